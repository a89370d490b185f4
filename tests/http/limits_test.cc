// Each bound of Options: at it, one below, one above; and clients that are slow.
#include <thread>

#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

constexpr std::chrono::milliseconds kShort{50};

std::string HeadOfSize(std::size_t size) {
  const std::string plain = Get("/hello", "X: \r\n");
  return Get("/hello", "X: " + std::string(size - plain.size(), 'x') + "\r\n");
}

class LimitsTest : public ServerTest {};

TEST_F(LimitsTest, HeaderBytes) {
  Options options = DefaultOptions();
  options.max_header_bytes = 1024;
  Start(options);
  ASSERT_EQ(HeadOfSize(1024).size(), 1024u);
  EXPECT_EQ(Ask(HeadOfSize(1023)).status, 200);
  EXPECT_EQ(Ask(HeadOfSize(1024)).status, 200);
  RawClient client(port());
  client.Send(HeadOfSize(1025));
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 431);
  EXPECT_EQ(reply.ErrorField("code"), "headers_too_large");
  EXPECT_TRUE(client.Ended());
}

TEST_F(LimitsTest, AVeryLongRequestLineIsRefusedBeforeItEnds) {
  Start();
  RawClient client(port());
  client.Send("GET /" + std::string(1'000'000, 'x'));
  EXPECT_EQ(client.Read().status, 431);
  EXPECT_EQ(Ask(Get("/" + std::string(100'000, 'x'))).status, 431);
}

TEST_F(LimitsTest, BodyBytes) {
  Options options = DefaultOptions();
  options.max_body_bytes = 1000;
  Start(options);
  EXPECT_EQ(Ask(Post("/echo", std::string(999, 'x'))).body.size(), 999u);
  EXPECT_EQ(Ask(Post("/echo", std::string(1000, 'x'))).body.size(), 1000u);
  const Reply reply = Ask(Post("/echo", std::string(1001, 'x')));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.ErrorField("code"), "request_too_large");
}

TEST_F(LimitsTest, BodyBytesInChunks) {
  Options options = DefaultOptions();
  options.max_body_bytes = 1000;
  Start(options);
  const auto ask = [this](std::size_t size) {
    std::string request =
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t i = 0; i < size; ++i) request += "1\r\nx\r\n";
    return Ask(request + "0\r\n\r\n").status;
  };
  EXPECT_EQ(ask(999), 200);
  EXPECT_EQ(ask(1000), 200);
  EXPECT_EQ(ask(1001), 413);
}

TEST_F(LimitsTest, ContentLengthOverTheLimitIsRefusedUnsent) {
  Start();
  for (const char* more : {"", "Expect: 100-continue\r\n"}) {
    const Reply reply =
        Ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
            "Content-Length: 18446744073709551615\r\n" +
            std::string(more) + "\r\n");
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.Header("connection"), "close");
  }
}

TEST_F(LimitsTest, Connections) {
  Options options = DefaultOptions();
  options.max_connections = 2;
  Start(options);
  RawClient first(port());
  RawClient second(port());
  for (RawClient* client : {&first, &second}) {
    client->Send(Get("/hello"));
    EXPECT_EQ(client->Read().status, 200);
  }
  RawClient third(port());
  third.Send(Get("/hello"));
  const Reply reply = third.Read();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.ErrorField("code"), "too_many_connections");
  EXPECT_EQ(reply.Header("retry-after"), "1");
  EXPECT_TRUE(third.Ended());
  EXPECT_EQ(server_->connections(), 2u);

  first.Close();
  ASSERT_TRUE(WaitForConnections(1));
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
}

class IdleTest : public ServerTest {
 protected:
  void SetUp() override {
    Options options = DefaultOptions();
    options.idle_timeout = kShort;
    Start(options);
  }
};

TEST_F(IdleTest, ClosesAConnectionThatSaysNothing) {
  RawClient client(port());
  EXPECT_TRUE(client.Ended());
}

TEST_F(IdleTest, ClosesInHalfAHead) {
  RawClient client(port());
  client.Send("GET /hello HT");
  EXPECT_TRUE(client.Ended());
}

TEST_F(IdleTest, AByteNowAndThenDoesNotHoldAConnection) {
  RawClient client(port());
  client.Send("GET /hello HTTP/1.1\r\nX: ");
  // Stops with an error once the server has closed; without a timeout of the whole head it would
  // go on until the head is too large.
  std::size_t sent = 0;
  while (client.Send("x")) {
    ++sent;
    ASSERT_EQ(client.HasBytes(), false) << "answered instead of closed after " << sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(client.Ended());
}

TEST_F(IdleTest, ClosesInHalfABody) {
  RawClient client(port());
  const std::string request = Post("/echo", "0123456789");
  client.Send(request.substr(0, request.size() - 1));
  EXPECT_TRUE(client.Ended());
}

// On a busy machine a client may lose the race against so short a timeout before it has asked.
TEST_F(IdleTest, ClosesBetweenRequests) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    RawClient client(port());
    client.Send(Get("/hello"));
    if (client.Read().status != 200) continue;
    EXPECT_TRUE(client.Ended());
    EXPECT_TRUE(WaitForConnections(0));
    return;
  }
  FAIL() << "never answered";
}

TEST_F(IdleTest, AHandlerMayTakeItsTime) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int before = ledger_.Of("waiting");
    RawClient client(port());
    client.Send(Post("/wait", "1"));
    RawClient idle(port());
    EXPECT_TRUE(idle.Ended()) << "the timeout has passed by now";
    if (ledger_.Of("waiting") == before) continue;
    gate_.Open();
    EXPECT_EQ(client.Read().status, 200);
    return;
  }
  FAIL() << "never asked";
}

TEST_F(LimitsTest, AClientThatDoesNotReadIsDisconnected) {
  Options options = DefaultOptions();
  options.write_timeout = kShort;
  Start(options);
  RawClient flood(port());
  flood.Send(Get("/flood"));
  EXPECT_TRUE(ledger_.WaitFor("flood over"));
  EXPECT_EQ(ledger_.Of("gone"), 1);
  RawClient large(port());
  large.Send(Get("/large"));
  EXPECT_TRUE(WaitForConnections(0));
}

TEST(OptionsTest, AreValidated) {
  const auto code = [](auto change) {
    Options options;
    options.port = 0;
    change(options);
    return Server::Listen(options, {}).status().code();
  };
  EXPECT_EQ(code([](Options&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(code([](Options& o) { o.io_threads = 0; }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Options& o) { o.max_connections = 0; }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Options& o) { o.max_header_bytes = 255; }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Options& o) { o.max_header_bytes = 256; }), absl::StatusCode::kOk);
  EXPECT_EQ(code([](Options& o) { o.max_header_bytes = 1 << 20; }), absl::StatusCode::kOk);
  EXPECT_EQ(code([](Options& o) { o.max_header_bytes = (1 << 20) + 1; }),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan::http
