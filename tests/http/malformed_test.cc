// Bytes that are no request: each is refused with 400, and the server serves the next.
#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

struct Malformed {
  const char* name;
  std::string bytes;
  friend void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }
};

class MalformedTest : public ServerTest, public testing::WithParamInterface<Malformed> {
 protected:
  void SetUp() override { Start(); }
};

TEST_P(MalformedTest, IsRefusedAndTheServerGoesOn) {
  RawClient client(port());
  client.Send(GetParam().bytes);
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.ErrorField("code"), "invalid_request");
  EXPECT_EQ(reply.ErrorField("type"), "invalid_request_error");
  EXPECT_NE(reply.ErrorField("message"), "");
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_TRUE(client.Ended());
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
}

std::string Line(std::string_view line) { return std::string(line) + "\r\nHost: h\r\n\r\n"; }

std::string Headers(std::string_view headers) {
  return "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
         std::string(headers) + "\r\n\r\nabc";
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, MalformedTest,
    testing::Values(
        Malformed{"Garbage", "GARBAGE\r\n\r\n"},
        Malformed{"Tls", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)},
        Malformed{"HighBytes", std::string(1000, '\xff') + "\r\n\r\n"},
        Malformed{"Zeros", std::string(1000, '\0') + "\r\n\r\n"},
        Malformed{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
        Malformed{"Http09", "GET /hello\r\n\r\n"}, Malformed{"NoTarget", Line("GET HTTP/1.1")},
        Malformed{"BadVersion", Line("GET /hello HTTP/1.x")},
        Malformed{"SpaceInTarget", Line("GET /he llo HTTP/1.1")},
        Malformed{"NulInTarget", Line(std::string_view("GET /he\0llo HTTP/1.1", 20))},
        Malformed{"NulInHeader", Headers(std::string_view("X: a\0b", 6))},
        Malformed{"NulInName", Headers(std::string_view("X\0: a", 5))},
        Malformed{"SpaceBeforeColon", Headers("X : a")},
        Malformed{"NoColon", Headers("Content-Length")},
        Malformed{"BareLineFeed", "GET /hello HTTP/1.1\nHost: h\n\n"},
        Malformed{"NoHost", "GET /hello HTTP/1.1\r\n\r\n"},
        Malformed{"NegativeLength", Headers("Content-Length: -1")},
        Malformed{"TwoLengths", Headers("Content-Length: 3\r\nContent-Length: 3")},
        Malformed{"LengthAndChunks", Headers("Content-Length: 3\r\nTransfer-Encoding: chunked")},
        Malformed{"UnknownCoding", Headers("Transfer-Encoding: gzip")},
        Malformed{"BadChunk", Headers("Transfer-Encoding: chunked\r\n\r\nzz")}),
    [](const auto& test) { return test.param.name; });

class BadTargetTest : public ServerTest {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(BadTargetTest, IsRefusedWithoutLosingTheConnection) {
  RawClient client(port());
  for (const char* target : {"/%zz", "/%", "/a%00", "*", "host:80"}) {
    client.Send(Get(target));
    const Reply reply = client.Read();
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_EQ(reply.ErrorField("code"), "invalid_request");
  }
}

}  // namespace
}  // namespace banyan::http
