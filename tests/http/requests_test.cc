// What a request gets: routes, bodies, HEAD, keep-alive, pipelining, handlers that fail.
#include <thread>

#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

using testing::HasSubstr;
using testing::Not;

class RequestsTest : public ServerTest {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(RequestsTest, AnswersAndKeepsTheConnection) {
  RawClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.Send(Get("/hello"));
    const Reply reply = client.Read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, R"({"hello":"world"})");
    EXPECT_EQ(reply.Header("content-type"), "application/json");
    EXPECT_EQ(reply.Header("connection"), "");
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(RequestsTest, PipelinedRequestsAreAnsweredInOrder) {
  RawClient client(port());
  client.Send(Post("/echo", "1") + Get("/request/2") + Post("/echo", "3"));
  EXPECT_EQ(client.Read().body, "1");
  EXPECT_EQ(client.Read().body, "GET /request/2 ? ");
  EXPECT_EQ(client.Read().body, "3");
}

TEST_F(RequestsTest, PathIsDecodedAndQueryRaw) {
  EXPECT_EQ(Ask(Get("/request/a%20b?c=%20d")).body, "GET /request/a b ? c=%20d");
}

TEST_F(RequestsTest, UnknownPath) {
  RawClient client(port());
  client.Send(Get("/nowhere%22%0A"));
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.ErrorField("code"), "not_found");
  EXPECT_EQ(reply.ErrorField("type"), "invalid_request_error");
  EXPECT_THAT(reply.ErrorField("message"), HasSubstr("/nowhere\"\n"));
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().status, 200) << "nothing was left unread, so the connection goes on";
}

TEST_F(RequestsTest, UnknownMethod) {
  const Reply get = Ask(Get("/echo"));
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.ErrorField("code"), "method_not_allowed");
  EXPECT_EQ(get.Header("allow"), "POST");
  EXPECT_EQ(Ask(Post("/hello", "")).Header("allow"), "GET, HEAD");
  EXPECT_EQ(Ask("BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
}

TEST_F(RequestsTest, MediaTypeOfABody) {
  const auto status = [this](const std::string& type) {
    return Ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n" + type + "\r\n1").status;
  };
  EXPECT_EQ(status("Content-Type: application/json\r\n"), 200);
  EXPECT_EQ(status("Content-Type: Application/JSON ; charset=utf-8\r\n"), 200);
  EXPECT_EQ(status("Content-Type: application/x-www-form-urlencoded\r\n"), 415);
  EXPECT_EQ(status("Content-Type: application/jsonx\r\n"), 415);
  EXPECT_EQ(status(""), 415);
  EXPECT_EQ(status("Content-Type: application/json\r\nContent-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(status("Content-Type: application/json\r\nContent-Encoding: identity\r\n"), 200);
  EXPECT_EQ(Ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").status, 200)
      << "no body, no type";
}

TEST_F(RequestsTest, ARefusedBodyClosesTheConnectionAfterTheAnswerArrived) {
  RawClient client(port());
  // Far more than fits into the socket buffers: the client is still writing when it is refused.
  std::thread writer([&client] {
    client.Send(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
        "Content-Length: 8000000\r\n\r\n" +
        std::string(8'000'000, 'x'));
  });
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.ErrorField("code"), "unsupported_media_type");
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_TRUE(client.Ended());
  writer.join();
}

TEST_F(RequestsTest, ChunkedBody) {
  RawClient client(port());
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  client.Send(head + "3\r\nabc\r\n");
  client.Send("4;x=y\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n" + Get("/hello"));
  EXPECT_EQ(client.Read().body, "abcdefg");
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(RequestsTest, LargeBodiesGoBothWays) {
  std::string body(3'000'000, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>('a' + i % 26);
  EXPECT_EQ(Ask(Post("/echo", body)).body, body);
}

TEST_F(RequestsTest, HeadIsGetWithoutTheBody) {
  RawClient client(port());
  client.Send("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  const Reply reply = client.ReadHead();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("content-length"), "17");
  client.Send("HEAD /nowhere HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.ReadHead().status, 404);
  client.Send(Get("/request/x"));
  EXPECT_EQ(client.Read().body, "GET /request/x ? ") << "no body came before";
}

TEST_F(RequestsTest, TheHandlerOfHeadSeesGet) {
  RawClient client(port());
  client.Send("HEAD /request/x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.ReadHead().Header("content-length"),
            std::to_string(std::string("GET /request/x ? ").size()));
}

TEST_F(RequestsTest, ANoContentAnswerDoesNotShiftTheNext) {
  RawClient client(port());
  client.Send(Get("/empty") + Get("/hello"));
  EXPECT_EQ(client.Read().status, 204);
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(RequestsTest, AHeaderValueCannotAddAHeader) {
  const Reply reply = Ask(Get("/injection"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("x-request-id"), "a  X-Evil: yes");
  EXPECT_EQ(reply.Header("x-evil"), "");
}

TEST_F(RequestsTest, ExpectContinueIsAnsweredBeforeTheBody) {
  RawClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadHead().status, 100);
  client.Send("ok");
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "ok");
}

TEST_F(RequestsTest, ExpectContinueIsRefusedWhereTheBodyWouldBe) {
  const Reply reply =
      Ask("POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
          "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(reply.status, 404);
}

TEST_F(RequestsTest, ConnectionCloseIsObeyed) {
  RawClient client(port());
  client.Send(Get("/hello", "Connection: close\r\n"));
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_TRUE(client.Ended());
}

TEST_F(RequestsTest, Http10ClosesUnlessAskedNotTo) {
  RawClient closing(port());
  closing.Send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closing.Read().status, 200);
  EXPECT_TRUE(closing.Ended());

  RawClient keeping(port());
  for (int i = 0; i < 2; ++i) {
    keeping.Send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const Reply reply = keeping.Read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Header("connection"), "keep-alive");
  }
}

TEST_F(RequestsTest, AHandlerThatFailsIsAnsweredAndReported) {
  RawClient client(port());
  for (const char* path : {"/throw", "/throw-number", "/nothing", "/throw-started"}) {
    client.Send(Get(path));
    const Reply reply = client.Read();
    EXPECT_EQ(reply.status, 500) << path;
    EXPECT_EQ(reply.ErrorField("code"), "internal_error");
    EXPECT_EQ(reply.ErrorField("type"), "server_error");
    EXPECT_THAT(reply.body, Not(HasSubstr("secret"))) << "what went wrong is the operator's";
  }
  EXPECT_TRUE(ledger_.WaitFor("The handler of GET /throw threw: a secret"));
  EXPECT_TRUE(ledger_.WaitFor("The handler of GET /nothing returned without a complete answer"));
}

TEST_F(RequestsTest, AHandlerThatThrowsAfterItsAnswerHarmsNobody) {
  RawClient client(port());
  client.Send(Get("/throw-after") + Get("/hello"));
  EXPECT_EQ(client.Read().body, "\"done\"");
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_TRUE(ledger_.WaitFor("The handler of GET /throw-after threw: a secret"));
}

TEST_F(RequestsTest, ManyClientsAtOnce) {
  constexpr int kClients = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i] {
      RawClient client(port());
      for (int k = 0; k < 50; ++k) {
        const std::string body = std::to_string(1000 * i + k);
        client.Send(Post("/echo", body));
        if (client.Read().body == body) ledger_.Count("right");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger_.Of("right"), kClients * 50);
}

// In a process of its own: threads and a second answer.
TEST(AnswerDeathTest, AnsweringTwiceIsAProgrammersError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto answer_twice = [] {
    Options options;
    options.port = 0;
    std::vector<Server::Route> routes;
    routes.push_back(
        {"GET", "/twice", [](const Request&, Responder& r) -> boost::asio::awaitable<void> {
           co_await r.Send(Response());
           co_await r.Send(Response());
         }});
    auto server = Server::Listen(options, std::move(routes));
    (*server)->Start();
    RawClient client((*server)->port());
    client.Send(Get("/twice"));
    client.ReadToEnd();
  };
  EXPECT_DEATH(answer_twice(), "CHECK failed: state_ == State::kNothing");
}

}  // namespace
}  // namespace banyan::http
