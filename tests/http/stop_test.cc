// How a server ends.
#include <thread>

#include "tests/http/fixture.h"

namespace banyan::http {
namespace {

class StopTest : public ServerTest {};

// The listener closes on its own strand, soon after StopAccepting().
bool ConnectsNoMore(std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (!RawClient(port).connected()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST_F(StopTest, FinishesWhatRunsAndClosesWhatIsIdle) {
  Start();
  RawClient idle(port());
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  RawClient silent(port());
  RawClient busy(port());
  busy.Send(Post("/wait", "1"));
  ASSERT_TRUE(ledger_.WaitFor("waiting"));
  ASSERT_TRUE(WaitForConnections(3));

  server_->StopAccepting();
  EXPECT_TRUE(idle.Ended());
  EXPECT_TRUE(silent.Ended());
  EXPECT_TRUE(ConnectsNoMore(port()));
  EXPECT_TRUE(WaitForConnections(1));

  std::thread opener([this] { gate_.Open(); });
  server_->Stop(kPatience);
  opener.join();
  const Reply reply = busy.Read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_TRUE(busy.Ended());
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(ledger_.Of("answered"), 1);
  EXPECT_EQ(ledger_.Of("gone"), 0);
}

TEST_F(StopTest, ARequestThatHasBegunToArriveIsAnswered) {
  Start();
  RawClient client(port());
  const std::string request = Post("/echo", "12345");
  client.Send(Get("/hello") + request.substr(0, 40));
  EXPECT_EQ(client.Read().status, 200);
  // Its first bytes are read: they came with the request before.
  server_->StopAccepting();
  client.Send(request.substr(40));
  const Reply reply = client.Read();
  EXPECT_EQ(reply.body, "12345");
  EXPECT_EQ(reply.Header("connection"), "close");
}

TEST_F(StopTest, AStreamUnderWayIsFinished) {
  Start();
  RawClient client(port());
  client.Send(Get("/stream"));
  gate_.Open();
  EXPECT_FALSE(client.ReadSome().empty());
  server_->StopAccepting();
  gate_.Open();
  EXPECT_EQ(client.ReadToEnd(), "1b\r\ndata: three\n\ndata: [DONE]\n\n\r\n0\r\n\r\n");
}

TEST_F(StopTest, WhatOutlastsThePatienceIsClosed) {
  Start();
  RawClient waiting(port());
  waiting.Send(Post("/wait", "1"));
  RawClient stuck(port());  // takes nothing of what is written to it
  stuck.Send(Get("/flood"));
  RawClient half(port());
  half.Send("GET /he");
  ASSERT_TRUE(ledger_.WaitFor("waiting"));
  ASSERT_TRUE(WaitForConnections(3));

  server_->Stop(std::chrono::milliseconds(1));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(ledger_.Of("gone"), 2) << "handlers are told, so that they free what they hold";
  EXPECT_EQ(ledger_.Of("unanswered"), 1);
  EXPECT_EQ(ledger_.Of("flood over"), 1);
  EXPECT_TRUE(waiting.Ended());
  EXPECT_TRUE(half.Ended());
}

TEST_F(StopTest, AHandlerThatNeverReturnsDoesNotHoldIt) {
  Start();
  RawClient client(port());
  client.Send(Get("/stuck"));
  ASSERT_TRUE(ledger_.WaitFor("stuck"));
  server_->Stop(std::chrono::milliseconds(1));
  EXPECT_TRUE(client.Ended());
  server_.reset();
}

TEST_F(StopTest, StopsTwiceAndWithoutAStart) {
  Start();
  server_->Stop(kPatience);
  server_->Stop(kPatience);
  server_->StopAccepting();
  auto unstarted = Server::Listen(DefaultOptions(), {});
  ASSERT_TRUE(unstarted.ok());
  (*unstarted)->StopAccepting();
  (*unstarted)->Stop(kPatience);
}

}  // namespace
}  // namespace banyan::http
