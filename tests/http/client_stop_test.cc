// Client::Stop, and clients that go away early.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "tests/http/client_fixture.h"

namespace banyan::http {
namespace {

TEST_F(ClientTest, StopsWhatWaitsForAnAnswer) {
  bool ended = false;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    boost::asio::post(context_, [this] { client_->Stop(); });
    ended = peer.Ended();
  }});
  EXPECT_EQ(Ask().error, ClientError::kStopped);
  EXPECT_EQ(client_->connections(), 0);
  server_.Join();
  EXPECT_TRUE(ended);
}

TEST_F(ClientTest, IsStoppedByASinkBeforeTheRequestIsSent) {
  std::string request = "not empty";
  Serve({[&](Peer& peer) { request = peer.ReadRequest(); }});
  Recorder recorder;
  recorder.on_sent = [this] { client_->Stop(); };
  EXPECT_EQ(Ask(recorder).error, ClientError::kStopped);
  server_.Join();
  EXPECT_EQ(request, "");
}

TEST_F(ClientTest, IsStoppedByASinkWithinAnAnswer) {
  for (const bool in_head : {true, false}) {
    PeerServer server;
    server.Play({AnswerOk});
    ClientOptions options = Options();
    options.base.port = server.port();
    Start(options);
    Recorder recorder;
    if (in_head) {
      recorder.on_head = [this] { client_->Stop(); };
    } else {
      recorder.on_body = [this] {
        client_->Stop();
        return true;
      };
    }
    EXPECT_EQ(Ask(recorder).error, ClientError::kStopped);
    EXPECT_EQ(client_->connections(), 0);
  }
}

TEST_F(ClientTest, StopsAConnectionThatIsNotTaken) {
  BoundPort port(BoundPort::Listening::kYes);
  port.Fill();
  ClientOptions options = Options();
  options.base.port = port.port();
  Start(options);
  Recorder recorder;
  EXPECT_EQ(AskAndThen(recorder, [&] { client_->Stop(); }).error, ClientError::kStopped);
}

TEST_F(ClientTest, StopsALookUp) {
  ClientOptions options = Options();
  options.base.host = "localhost";
  Start(options);
  Recorder recorder;
  std::optional<ClientResult> result;
  const ClientRequest request = Get("/");
  Begin(request, recorder, &result);
  boost::asio::post(context_, [this] { client_->Stop(); });
  Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, ClientError::kStopped);
  EXPECT_EQ(recorder.sent, 0);
}

TEST_F(ClientTest, ClosesIdleConnectionsAndTakesNothingMoreAfterStop) {
  bool ended = false;
  Serve({[&](Peer& peer) {
    AnswerOk(peer);
    ended = peer.Ended();
  }});
  EXPECT_EQ(Ask().error, ClientError::kNone);
  EXPECT_EQ(client_->connections(), 1);
  client_->Stop();
  EXPECT_EQ(client_->connections(), 0);
  server_.Join();
  EXPECT_TRUE(ended);
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kStopped);
  EXPECT_EQ(recorder.sent, 0);
}

TEST_F(ClientTest, StopsManyAtOnce) {
  constexpr int kMany = 20;
  int waiting = 0;
  // One connection is taken, the others wait to be; all have sent.
  Signal stopped;
  Serve({[&](Peer&) { EXPECT_TRUE(stopped.Wait()); }});
  std::vector<Recorder> recorders(kMany);
  std::vector<std::optional<ClientResult>> results(kMany);
  const ClientRequest request = Get("/");
  for (int i = 0; i < kMany; ++i) {
    recorders[i].on_sent = [&] {
      if (++waiting == kMany) boost::asio::post(context_, [this] { client_->Stop(); });
    };
    Begin(request, recorders[i], &results[i]);
  }
  Run();
  stopped.Set();
  server_.Join();
  for (const auto& result : results) {
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error, ClientError::kStopped);
  }
}

TEST_F(ClientTest, MayGoAwayRightAfterItsLastExchange) {
  Serve({AnswerOk});
  Recorder recorder;
  std::optional<ClientResult> result;
  const ClientRequest request = Get("/");
  Begin(request, recorder, &result);
  while (!result) context_.run_one();
  client_.reset();
  Run();
  EXPECT_EQ(recorder.body, "ok");
}

TEST_F(ClientTest, MayGoAwayBeforeAnExchangeEnds) {
  Serve({[](Peer& peer) { EXPECT_TRUE(peer.Ended()); }});
  Recorder recorder;
  std::optional<ClientResult> result;
  const ClientRequest request = Get("/");
  recorder.on_sent = [this] { client_.reset(); };
  Begin(request, recorder, &result);
  Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, ClientError::kStopped);
}

TEST(ClientLifetime, AnExchangeMayBeDestroyedWithItsContext) {
  PeerServer server;
  server.Play({[](Peer& peer) {
    peer.ReadRequest();
    EXPECT_TRUE(peer.Ended());
  }});
  const FakeClock clock;
  Recorder recorder;
  std::optional<ClientResult> result;
  ClientRequest request;
  request.target = "/";
  {
    boost::asio::io_context context;
    ClientOptions options;
    options.base.host = "127.0.0.1";
    options.base.port = server.port();
    auto client = Client::Create(context.get_executor(), options, clock);
    ASSERT_TRUE(client.ok());
    boost::asio::co_spawn(context, (*client)->Exchange(request, recorder),
                          [&](const std::exception_ptr&, ClientResult done) { result = done; });
    while (recorder.sent == 0) context.run_one();
  }
  EXPECT_FALSE(result.has_value());
}

}  // namespace
}  // namespace banyan::http
