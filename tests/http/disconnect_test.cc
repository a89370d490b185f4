// A client that goes away while its request is being answered.
#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

class DisconnectTest : public ServerTest {
 protected:
  void SetUp() override { Start(); }

  void StartWaiting(RawClient& client) {
    client.Send(Post("/wait", "1"));
    ASSERT_TRUE(ledger_.WaitFor("waiting"));
  }

  void ExpectGoneOnce() {
    EXPECT_TRUE(ledger_.WaitFor("unanswered"));
    EXPECT_TRUE(WaitForConnections(0));
    EXPECT_EQ(ledger_.Of("gone"), 1);
    EXPECT_EQ(ledger_.Of("answered"), 0);
  }
};

TEST_F(DisconnectTest, CloseIsSeenWhileNothingIsWritten) {
  RawClient client(port());
  StartWaiting(client);
  client.Close();
  ExpectGoneOnce();
}

TEST_F(DisconnectTest, ResetIsSeen) {
  RawClient client(port());
  StartWaiting(client);
  client.Reset();
  ExpectGoneOnce();
}

TEST_F(DisconnectTest, EndOfSendingCountsAsGone) {
  RawClient client(port());
  StartWaiting(client);
  client.ShutdownWrite();
  ExpectGoneOnce();
  EXPECT_TRUE(client.Ended());
}

TEST_F(DisconnectTest, OnALaterRequestOfTheConnectionToo) {
  RawClient client(port());
  for (int i = 1; i <= 3; ++i) {
    client.Send(Post("/wait", "1"));
    ASSERT_TRUE(ledger_.WaitFor("waiting", i));
    gate_.Open();
    EXPECT_EQ(client.Read().status, 200);
    client.Send(Get("/hello"));
    EXPECT_EQ(client.Read().status, 200);
  }
  client.Send(Post("/wait", "1"));
  ASSERT_TRUE(ledger_.WaitFor("waiting", 4));
  client.Close();
  EXPECT_TRUE(ledger_.WaitFor("unanswered"));
  EXPECT_EQ(ledger_.Of("gone"), 1);
  EXPECT_EQ(ledger_.Of("answered"), 3);
}

TEST_F(DisconnectTest, APipelinedRequestIsNone) {
  RawClient client(port());
  StartWaiting(client);
  client.Send(Get("/request/second"));
  gate_.Open();
  EXPECT_EQ(client.Read().body, "\"waited\"");
  EXPECT_EQ(client.Read().body, "GET /request/second ? ");
  EXPECT_EQ(ledger_.Of("gone"), 0);
}

TEST_F(DisconnectTest, IsSeenBehindPipelinedRequests) {
  RawClient client(port());
  StartWaiting(client);
  client.Send(Get("/hello"));
  client.Close();
  ExpectGoneOnce();
}

// More than the connection reads ahead: the rest waits in the socket, and all are answered.
TEST_F(DisconnectTest, ManyPipelinedRequestsAreKept) {
  constexpr int kRequests = 2000;
  RawClient client(port());
  StartWaiting(client);
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += Get("/request/" + std::to_string(i));
  ASSERT_GT(requests.size(), DefaultOptions().max_header_bytes + (32 << 10));
  client.Send(requests);
  gate_.Open();
  EXPECT_EQ(client.Read().body, "\"waited\"");
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(client.Read().body, "GET /request/" + std::to_string(i) + " ? ");
  }
  EXPECT_EQ(ledger_.Of("gone"), 0);
}

TEST_F(DisconnectTest, IsSeenWhileEventsAreWritten) {
  RawClient client(port());
  client.Send(Get("/flood"));
  EXPECT_FALSE(client.ReadSome().empty());
  client.Reset();
  EXPECT_TRUE(ledger_.WaitFor("flood over"));
  EXPECT_EQ(ledger_.Of("gone"), 1);
  EXPECT_EQ(ledger_.Of("sent to nobody"), 0);
}

TEST_F(DisconnectTest, InHalfARequestEndsTheConnection) {
  for (const std::string& part :
       {std::string("GET /he"), Post("/echo", "12345").substr(0, 88), std::string("\r\n")}) {
    RawClient client(port());
    client.Send(part);
    client.ShutdownWrite();
    EXPECT_TRUE(client.Ended());
  }
  EXPECT_TRUE(WaitForConnections(0));
}

TEST_F(DisconnectTest, ManyAtRandomMomentsLeaveNothingBehind) {
  for (int i = 0; i < 200; ++i) {
    RawClient client(port());
    const std::string request = i % 2 == 0 ? Post("/wait", "1") : Get("/flood");
    client.Send(request.substr(0, i % 7 == 0 ? request.size() / 2 : request.size()));
    if (i % 3 == 0) client.Reset();
  }
  EXPECT_TRUE(WaitForConnections(0));
  EXPECT_EQ(ledger_.Of("sent to nobody"), 0);
  EXPECT_EQ(ledger_.Of("answered"), 0);
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
}

}  // namespace
}  // namespace banyan::http
