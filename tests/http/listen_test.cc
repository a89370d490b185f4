// Where the server listens.
#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

using testing::HasSubstr;

class ListenTest : public ServerTest {};

absl::Status ListenOnHost(const std::string& host, std::uint16_t port = 0) {
  Options options;
  options.host = host;
  options.port = port;
  return Server::Listen(options, {}).status();
}

TEST_F(ListenTest, ASecondServerOnThePortSaysSo) {
  Start();
  const absl::Status status = ListenOnHost("127.0.0.1", port());
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status.message()),
            "127.0.0.1:" + std::to_string(port()) + " is in use by another process");
  EXPECT_EQ(Ask(Get("/hello")).status, 200) << "the first is unharmed";
}

TEST_F(ListenTest, BadHosts) {
  for (const std::string& host : {std::string(), std::string("no such host"), std::string("[]"),
                                  std::string("127.0.0.1\0x", 11), std::string("192.0.2.1")}) {
    EXPECT_EQ(ListenOnHost(host).code(), absl::StatusCode::kInvalidArgument) << host;
  }
  EXPECT_THAT(std::string(ListenOnHost("no such host").message()), HasSubstr("\"no such host\""));
}

TEST_F(ListenTest, NamesAndIpv6) {
  EXPECT_TRUE(ListenOnHost("localhost").ok());
  if (!ListenOnHost("::1").ok()) GTEST_SKIP() << "no IPv6 here";
  for (const char* host : {"::1", "[::1]"}) {
    Options options = DefaultOptions();
    options.host = host;
    Start(options);
    RawClient client(port(), "::1");
    client.Send(Get("/hello"));
    EXPECT_EQ(client.Read().status, 200);
    EXPECT_THAT(std::string(ListenOnHost(host, port()).message()),
                "[::1]:" + std::to_string(port()) + " is in use by another process");
  }
}

TEST_F(ListenTest, ARestartedServerGetsItsPortBack) {
  Start();
  Options options = DefaultOptions();
  options.port = port();
  {
    RawClient client(port());
    client.Send(Get("/hello"));
    EXPECT_EQ(client.Read().status, 200);
    // The server closes first, so that its side of the connection is left in TIME_WAIT.
    server_.reset();
    EXPECT_TRUE(client.Ended());
  }
  Start(options);
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
}

TEST_F(ListenTest, CountsConnections) {
  Start();
  EXPECT_EQ(server_->connections(), 0u);
  {
    RawClient first(port());
    RawClient second(port());
    EXPECT_TRUE(WaitForConnections(2));
  }
  EXPECT_TRUE(WaitForConnections(0));
}

}  // namespace
}  // namespace banyan::http
