// Server-sent events: when bytes leave, and which.
#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EventsTest : public ServerTest {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(EventsTest, TheHeadLeavesWithTheFirstEvent) {
  RawClient client(port());
  client.Send(Get("/stream"));
  ASSERT_TRUE(ledger_.WaitFor("started"));
  EXPECT_FALSE(client.HasBytes());
  gate_.Open();
  const std::string first = client.ReadSome();
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(first, HasSubstr("\r\nContent-Type: text/event-stream\r\n"));
  EXPECT_THAT(first, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(first, HasSubstr("\r\nCache-Control: no-cache\r\n"));
  // Both events of one call, in one chunk.
  EXPECT_THAT(first, EndsWith("\r\n\r\n16\r\ndata: one\n\ndata: two\n\n\r\n"));
  gate_.Open();
}

TEST_F(EventsTest, TheLastEventsAndTheLastChunkAreOneWrite) {
  RawClient client(port());
  client.Send(Get("/stream"));
  gate_.Open();
  EXPECT_THAT(client.ReadSome(), EndsWith("data: two\n\n\r\n"));
  gate_.Open();
  EXPECT_EQ(client.ReadSome(), "1b\r\ndata: three\n\ndata: [DONE]\n\n\r\n0\r\n\r\n");
  EXPECT_TRUE(ledger_.WaitFor("finished"));
}

TEST_F(EventsTest, AnotherRequestMayFollow) {
  RawClient client(port());
  gate_.Open();
  gate_.Open();
  client.Send(Get("/stream"));
  EXPECT_EQ(client.Read().body, "data: one\n\ndata: two\n\ndata: three\n\ndata: [DONE]\n\n");
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(EventsTest, Http10GetsAStreamThatEndsWithTheConnection) {
  RawClient client(port());
  gate_.Open();
  gate_.Open();
  client.Send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Reply reply = client.Read();
  EXPECT_EQ(reply.Header("transfer-encoding"), "");
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_EQ(reply.body, "data: one\n\ndata: two\n\ndata: three\n\ndata: [DONE]\n\n");
  EXPECT_TRUE(client.Ended());
}

TEST_F(EventsTest, HeadOfAStreamIsItsHead) {
  RawClient client(port());
  gate_.Open();
  gate_.Open();
  client.Send("HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n" + Get("/hello"));
  EXPECT_EQ(client.ReadHead().Header("content-type"), "text/event-stream");
  EXPECT_EQ(client.Read().body, R"({"hello":"world"})");
}

TEST_F(EventsTest, AnErrorAfterTheFirstEventIsAnEventAndTheEnd) {
  RawClient client(port());
  for (const char* path : {"/throw-streaming", "/unfinished"}) {
    client.Send(Get(path));
    const Reply reply = client.Read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(reply.body, StartsWith("data: one\n\ndata: {\"error\":{\"message\":"));
    EXPECT_THAT(reply.body, HasSubstr("\"code\":\"internal_error\""));
    EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
    EXPECT_THAT(reply.body, EndsWith("}}\n\n"));
  }
}

}  // namespace
}  // namespace banyan::http
