#include "gtest/gtest.h"
#include "http/client.h"
#include "http/client_request.h"

namespace banyan::http {
namespace {

Url Parsed(std::string_view text) {
  const absl::StatusOr<Url> url = ParseUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

TEST(ParseUrl, TakesSchemeHostPortAndPath) {
  const Url url = Parsed("http://example.org:8080/base/v2");
  EXPECT_FALSE(url.tls);
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, 8080);
  EXPECT_EQ(url.path, "/base/v2");
}

TEST(ParseUrl, KnowsThePortOfAScheme) {
  EXPECT_EQ(Parsed("http://host").port, 80);
  EXPECT_EQ(Parsed("https://host").port, 443);
  EXPECT_TRUE(Parsed("https://host").tls);
  EXPECT_TRUE(Parsed("HTTPS://host").tls);
}

TEST(ParseUrl, TakesPortsFrom1To65535) {
  EXPECT_EQ(Parsed("http://host:1").port, 1);
  EXPECT_EQ(Parsed("http://host:65535").port, 65535);
  EXPECT_FALSE(ParseUrl("http://host:0").ok());
  EXPECT_FALSE(ParseUrl("http://host:65536").ok());
}

TEST(ParseUrl, LeavesNoSlashAtTheEnd) {
  EXPECT_EQ(Parsed("http://host").path, "");
  EXPECT_EQ(Parsed("http://host/").path, "");
  EXPECT_EQ(Parsed("http://host/base/").path, "/base");
  EXPECT_EQ(Parsed("http://host/base//").path, "/base");
}

TEST(ParseUrl, TakesAddresses) {
  EXPECT_EQ(Parsed("http://127.0.0.1:80").host, "127.0.0.1");
  EXPECT_EQ(Parsed("http://[::1]:8000/x").host, "::1");
  EXPECT_EQ(Parsed("http://[::1]:8000/x").port, 8000);
  EXPECT_EQ(Parsed("http://[2001:db8::7]").host, "2001:db8::7");
}

TEST(ParseUrl, RefusesAllElse) {
  for (const char* bad : {
           "",
           "host",
           "host:8080",
           "//host",
           "ftp://host",
           "http:/host",
           "http://",
           "http:///path",
           "http://:80",
           "http://host:",
           "http://host:port",
           "http://host:+80",
           "http://host: 80",
           "http://host:80:80",
           "http://host:99999999999999999999",
           "http://user@host",
           "http://user:word@host",
           "http://host?query",
           "http://host/path?query",
           "http://host/path#part",
           "http://ho st",
           "http://host/pa th",
           "http://host\r\nX: y",
           "http://h\xc3\xb6st",
           "http://::1",
           "http://[::1",
           "http://[]",
           "http://[host]",
           "http://[127.0.0.1]",
           "http://[::1%eth0]",
           "http://[::1]80",
           " http://host",
       }) {
    const absl::StatusOr<Url> url = ParseUrl(bad);
    EXPECT_EQ(url.status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(ParseUrl(std::string_view("http://ho\0st", 12)).ok());
}

TEST(PlaceOf, NamesThePortUnlessItGoesWithoutSaying) {
  EXPECT_EQ(PlaceOf(Parsed("http://host")), "host");
  EXPECT_EQ(PlaceOf(Parsed("http://host:443")), "host:443");
  EXPECT_EQ(PlaceOf(Parsed("https://host")), "host");
  EXPECT_EQ(PlaceOf(Parsed("https://[::1]:80")), "[::1]:80");
}

std::string BytesOf(const ClientOptions& options, const ClientRequest& request) {
  return RequestWriter(options).Bytes(request);
}

ClientRequest Post(std::string_view body) {
  ClientRequest request;
  request.method = "POST";
  request.target = "/v1/completions";
  request.body = body;
  return request;
}

TEST(RequestWriter, WritesHeadAndBody) {
  ClientOptions options;
  options.base = Parsed("http://host:8000/base");
  options.headers = {{"Authorization", "Bearer k"}, {"X-Empty", ""}};
  ClientRequest get;
  get.target = "/v1/models";
  EXPECT_EQ(BytesOf(options, get),
            "GET /base/v1/models HTTP/1.1\r\nHost: host:8000\r\nAuthorization: Bearer k\r\n"
            "X-Empty: \r\n\r\n");
  EXPECT_EQ(BytesOf(options, Post("{}")),
            "POST /base/v1/completions HTTP/1.1\r\nHost: host:8000\r\nAuthorization: Bearer k\r\n"
            "X-Empty: \r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(RequestWriter, AnnouncesAnEmptyBodyWhereOneIsExpected) {
  ClientOptions options;
  options.base = Parsed("http://host");
  EXPECT_EQ(BytesOf(options, Post("")),
            "POST /v1/completions HTTP/1.1\r\nHost: host\r\nContent-Length: 0\r\n\r\n");
}

TEST(RequestWriter, ReplacesHostAndContentType) {
  ClientOptions options;
  options.base = Parsed("http://host");
  options.headers = {{"host", "other"}, {"content-type", "text/plain"}};
  EXPECT_EQ(BytesOf(options, Post("x")),
            "POST /v1/completions HTTP/1.1\r\nhost: other\r\ncontent-type: text/plain\r\n"
            "Content-Length: 1\r\n\r\nx");
}

TEST(RequestWriter, SaysThatAConnectionIsForOneRequest) {
  ClientOptions options;
  options.base = Parsed("http://host");
  options.keep_alive = false;
  ClientRequest get;
  get.target = "/";
  EXPECT_EQ(BytesOf(options, get), "GET / HTTP/1.1\r\nHost: host\r\nConnection: close\r\n\r\n");
}

TEST(CheckHeaders, RefusesWhatWouldAddOrBreakAHeader) {
  EXPECT_TRUE(CheckHeaders({{"X-A_b", "c\td \xc3\xa9"}}).ok());
  for (const char* name : {"", " ", "X Y", "X:", "X\r\n", "\xc3\xa9", "content-length",
                           "Transfer-Encoding", "CONNECTION", "Expect"}) {
    EXPECT_FALSE(CheckHeaders({{name, "1"}}).ok()) << name;
  }
  for (const char* value : {"a\r\nX: b", "a\n", "\x7f"}) {
    EXPECT_FALSE(CheckHeaders({{"X", value}}).ok()) << value;
  }
}

}  // namespace
}  // namespace banyan::http
