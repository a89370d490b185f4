// Which connections carry another request, and what happens when they do not.
#include "tests/http/client_fixture.h"

namespace banyan::http {
namespace {

void AnswerTwice(Peer& peer) {
  for (int i = 0; i < 2; ++i) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }
}

TEST_F(ClientTest, UsesAConnectionAgain) {
  Serve({AnswerTwice});
  EXPECT_EQ(client_->connections(), 0);
  const ClientResult first = Ask();
  EXPECT_EQ(first.error, ClientError::kNone);
  EXPECT_FALSE(first.reused);
  EXPECT_EQ(client_->connections(), 1);
  const ClientResult second = Ask();
  EXPECT_EQ(second.error, ClientError::kNone);
  EXPECT_TRUE(second.reused);
  EXPECT_EQ(client_->connections(), 1);
}

TEST_F(ClientTest, UsesAConnectionAgainAfterChunks) {
  Serve({[](Peer& peer) {
    for (int i = 0; i < 2; ++i) {
      peer.ReadRequest();
      peer.Send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: t\r\n\r\n");
    }
  }});
  Ask();
  EXPECT_TRUE(Ask().reused);
}

TEST_F(ClientTest, UsesAConnectionAgainWhoseAnswerEndedWithWhatTheSinkRefused) {
  Serve({[](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
    AnswerOk(peer);
  }});
  Recorder recorder;
  recorder.on_body = [] { return false; };
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  EXPECT_EQ(client_->connections(), 1);
  EXPECT_TRUE(Ask().reused);
}

TEST_F(ClientTest, ClosesWhatTheServerCloses) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                             "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    PeerServer server;
    bool ended = false;
    server.Play({[&](Peer& peer) {
      peer.ReadRequest();
      peer.Send(answer);
      ended = peer.Ended();
    }});
    ClientOptions options = Options();
    options.base.port = server.port();
    Start(options);
    EXPECT_EQ(Ask().error, ClientError::kNone);
    EXPECT_EQ(client_->connections(), 0);
    server.Join();
    EXPECT_TRUE(ended);
  }
}

TEST_F(ClientTest, HasAConnectionForEachRequestWhereAskedTo) {
  ClientOptions options = Options();
  options.keep_alive = false;
  std::string request;
  bool ended = false;
  server_.Play({[&](Peer& peer) {
                  request = peer.ReadRequest();
                  peer.Send(Answer("ok"));
                  ended = peer.Ended();
                },
                AnswerOk});
  Start(options);
  EXPECT_FALSE(Ask().reused);
  EXPECT_EQ(client_->connections(), 0);
  EXPECT_FALSE(Ask().reused);
  server_.Join();
  EXPECT_THAT(request, testing::HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_TRUE(ended);
}

TEST_F(ClientTest, DoesNotUseAConnectionAgainThatSaidTooMuch) {
  Serve({[](Peer& peer) {
           peer.ReadRequest();
           peer.Send(Answer("ok") + "more");
         },
         AnswerOk});
  EXPECT_EQ(Ask().error, ClientError::kNone);
  EXPECT_EQ(client_->connections(), 0);
  EXPECT_FALSE(Ask().reused);
}

TEST_F(ClientTest, DoesNotUseAConnectionAgainThatSpokeUnasked) {
  Signal asked_once;
  Signal spoken;
  Serve({[&](Peer& peer) {
           AnswerOk(peer);
           ASSERT_TRUE(asked_once.Wait());
           peer.Send("HTTP/1.1 408 Request Timeout\r\n\r\n");
           EXPECT_TRUE(peer.Deliver());
           spoken.Set();
           EXPECT_TRUE(peer.Ended());
         },
         AnswerOk});
  Ask();
  EXPECT_EQ(client_->connections(), 1);
  asked_once.Set();
  ASSERT_TRUE(spoken.Wait());
  Recorder recorder;
  const ClientResult second = Ask(recorder);
  server_.Join();
  EXPECT_EQ(second.error, ClientError::kNone);
  EXPECT_FALSE(second.reused);
  EXPECT_EQ(recorder.status, 200);
}

TEST_F(ClientTest, KeepsAtMostSoManyIdleConnections) {
  for (const std::size_t most : {0, 1, 2, 3}) {
    PeerServer server;
    server.Play({AnswerOk, AnswerOk});
    ClientOptions options = Options();
    options.base.port = server.port();
    options.max_idle_connections = most;
    Start(options);
    Recorder recorders[2];
    std::optional<ClientResult> results[2];
    const ClientRequest request = Get("/");
    for (int i = 0; i < 2; ++i) Begin(request, recorders[i], &results[i]);
    Run();
    EXPECT_EQ(recorders[0].body + recorders[1].body, "okok");
    EXPECT_EQ(client_->connections(), std::min<std::size_t>(most, 2)) << most;
  }
}

TEST_F(ClientTest, ReplacesAnIdleConnectionThatTheServerClosed) {
  Signal closed;
  Serve({[&](Peer& peer) {
           AnswerOk(peer);
           peer.ShutdownWrite();
           EXPECT_TRUE(peer.Deliver());
           closed.Set();
         },
         AnswerOk});
  Ask();
  ASSERT_TRUE(closed.Wait());
  Recorder recorder;
  const ClientResult second = Ask(recorder);
  server_.Join();
  EXPECT_EQ(second.error, ClientError::kNone);
  EXPECT_FALSE(second.reused);
  EXPECT_EQ(recorder.sent, 1) << "the old connection was seen to be closed before it was used";
}

TEST_F(ClientTest, SendsAgainWhenAUsedConnectionEndsWithoutAByte) {
  for (void (Peer::*end)() : {&Peer::Close, &Peer::Reset}) {
    PeerServer server;
    std::string request;
    server.Play({[&](Peer& peer) {
                   AnswerOk(peer);
                   peer.ReadRequest();
                   (peer.*end)();
                 },
                 [&](Peer& peer) {
                   request = peer.ReadRequest();
                   peer.Send(Answer("ok"));
                 }});
    ClientOptions options = Options();
    options.base.port = server.port();
    Start(options);
    Ask();
    Recorder recorder;
    const ClientResult second = Ask(recorder, Post("/", "body"));
    server.Join();
    EXPECT_EQ(second.error, ClientError::kNone) << second.what;
    EXPECT_FALSE(second.reused);
    EXPECT_EQ(recorder.sent, 2);
    EXPECT_EQ(recorder.heads, 1);
    EXPECT_EQ(recorder.body, "ok");
    EXPECT_THAT(request, testing::EndsWith("\r\n\r\nbody"));
  }
}

TEST_F(ClientTest, SendsAgainWhenAUsedConnectionBreaksUnderTheRequest) {
  Signal sending;
  Serve({[&](Peer& peer) {
           AnswerOk(peer);
           ASSERT_TRUE(sending.Wait());
           peer.Reset();
         },
         AnswerOk});
  Ask();
  Recorder recorder;
  SendIntoReset(recorder, sending);
  const ClientResult second = Ask(recorder);
  server_.Join();
  EXPECT_EQ(second.error, ClientError::kNone) << second.what;
  EXPECT_FALSE(second.reused);
  EXPECT_EQ(recorder.sent, 2);
  EXPECT_EQ(recorder.body, "ok");
}

TEST_F(ClientTest, SendsAgainOnlyOnce) {
  Serve({[](Peer& peer) {
           AnswerOk(peer);
           peer.ReadRequest();
         },
         [](Peer& peer) { peer.ReadRequest(); }});
  Ask();
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kTruncated);
  EXPECT_EQ(recorder.sent, 2);
}

TEST_F(ClientTest, DoesNotSendAgainOnceAByteOfAnAnswerHasCome) {
  Serve({[](Peer& peer) {
    AnswerOk(peer);
    peer.ReadRequest();
    peer.Send("H");
  }});
  Ask();
  Recorder recorder;
  const ClientResult second = Ask(recorder);
  EXPECT_EQ(second.error, ClientError::kTruncated);
  EXPECT_TRUE(second.reused);
  EXPECT_EQ(recorder.sent, 1);
}

TEST_F(ClientTest, DoesNotSendAgainAfterATimeout) {
  Serve({[this](Peer& peer) {
    AnswerOk(peer);
    peer.ReadRequest();
    clock_.Advance(kReadTimeout);
    EXPECT_TRUE(peer.Ended());
  }});
  Ask();
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kTimeout);
  EXPECT_EQ(recorder.sent, 1);
}

}  // namespace
}  // namespace banyan::http
