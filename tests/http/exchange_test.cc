// One request, one answer.
#include "tests/http/client_fixture.h"

namespace banyan::http {
namespace {

using testing::ElementsAre;

TEST_F(ClientTest, SendsAGetAndTakesItsAnswer) {
  std::string request;
  Serve({[&](Peer& peer) {
    request = peer.ReadRequest();
    peer.Send(Answer("{}", "Content-Type: application/json\r\n"));
  }});
  Recorder recorder;
  const ClientResult result = Ask(recorder, Get("/v1/models"));
  server_.Join();
  EXPECT_EQ(result.error, ClientError::kNone);
  EXPECT_FALSE(result.reused);
  EXPECT_EQ(request, "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:" +
                         std::to_string(server_.port()) + "\r\n\r\n");
  EXPECT_EQ(recorder.sent, 1);
  EXPECT_EQ(recorder.heads, 1);
  EXPECT_EQ(recorder.status, 200);
  EXPECT_EQ(recorder.content_type, "application/json");
  EXPECT_EQ(recorder.body, "{}");
}

TEST_F(ClientTest, SendsHeadAndBodyInOneWrite) {
  std::string first;
  Serve({[&](Peer& peer) {
    first = peer.ReadSome();
    peer.Send(Answer("ok"));
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder, Post("/", R"({"a":1})")).error, ClientError::kNone);
  server_.Join();
  EXPECT_THAT(first, testing::StartsWith("POST / HTTP/1.1\r\n"));
  EXPECT_THAT(first, testing::EndsWith("\r\n\r\n{\"a\":1}"));
}

TEST_F(ClientTest, SendsABodyThatNoSocketHoldsAtOnce) {
  const std::string body(32 << 20, 'b');
  std::string request;
  Serve({[&](Peer& peer) {
    request = peer.ReadRequest();
    peer.Send(Answer("ok"));
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder, Post("/", body)).error, ClientError::kNone);
  server_.Join();
  EXPECT_TRUE(request.ends_with("\r\n\r\n" + body));
}

TEST_F(ClientTest, TakesAnAnswerLargerThanItsBuffer) {
  const std::string body(5 << 20, 'b');
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    peer.Send(Answer(body));
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  EXPECT_TRUE(recorder.body == body);
}

TEST_F(ClientTest, HandsOnWhatComesWhenItComes) {
  Signal first_seen;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    clock_.Advance(Tick(5));
    peer.Send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n5\r\nth");
    ASSERT_TRUE(first_seen.Wait());
    clock_.Advance(Tick(7));
    peer.Send("ree\r\n0\r\n\r\n");
  }});
  Recorder recorder;
  recorder.on_body = [&] {
    if (recorder.body == "onetwoth") first_seen.Set();
    return true;
  };
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  server_.Join();
  EXPECT_THAT(recorder.pieces, ElementsAre("one", "two", "th", "ree"));
  EXPECT_THAT(recorder.times, ElementsAre(Tick(5), Tick(5), Tick(5), Tick(12)));
  EXPECT_EQ(recorder.sent_at, Tick(0));
  EXPECT_EQ(recorder.head_at, Tick(5));
}

// Every look at this clock gives another time.
class CountingClock final : public Clock {
 public:
  Tick Now() const override { return Tick(++now_); }

 private:
  mutable std::atomic<Tick::rep> now_ = 0;
};

TEST_F(ClientTest, GivesOneTimeToWhatOneReadBrought) {
  const CountingClock clock;
  server_.Play({[](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  }});
  auto client = Client::Create(context_.get_executor(), Options(), clock);
  ASSERT_TRUE(client.ok());
  client_ = *std::move(client);
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  ASSERT_EQ(recorder.times.size(), 2);
  EXPECT_EQ(recorder.times[0], recorder.times[1]);
  EXPECT_EQ(recorder.head_at, recorder.times[0]);
  EXPECT_LT(recorder.sent_at, recorder.head_at);
  client_.reset();
}

TEST_F(ClientTest, TakesAnAnswerThatLastsUntilTheConnectionEnds) {
  Serve({[](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\n\r\nall of it");
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  EXPECT_EQ(recorder.body, "all of it");
  EXPECT_EQ(client_->connections(), 0);
}

TEST_F(ClientTest, HandsOnErrorsOfTheServerLikeAnyAnswer) {
  Serve({[](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nbusy");
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  EXPECT_EQ(recorder.status, 429);
  EXPECT_EQ(recorder.body, "busy");
}

TEST_F(ClientTest, TakesAnAnswerWithoutABodyToHead) {
  Serve({[](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
  }});
  Recorder recorder;
  ClientRequest request = Get("/");
  request.method = "HEAD";
  EXPECT_EQ(Ask(recorder, request).error, ClientError::kNone);
  EXPECT_EQ(recorder.heads, 1);
  EXPECT_EQ(recorder.body, "");
}

TEST_F(ClientTest, TakesAnEarlyAnswerToARequestThatIsNeverRead) {
  const std::string body(32 << 20, 'b');
  Serve({[](Peer& peer) {
    peer.ReadSome();
    peer.Send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!");
  }});
  Recorder recorder;
  EXPECT_EQ(Ask(recorder, Post("/", body)).error, ClientError::kNone);
  EXPECT_EQ(recorder.status, 413);
  EXPECT_EQ(recorder.body, "no!");
}

TEST_F(ClientTest, FindsAHostByName) {
  ClientOptions options = Options();
  options.base.host = "localhost";
  server_.Play({AnswerOk, AnswerOk});
  options.keep_alive = false;
  Start(options);
  EXPECT_EQ(Ask().error, ClientError::kNone);
  EXPECT_EQ(Ask().error, ClientError::kNone);
}

TEST_F(ClientTest, EndsAnExchangeWhoseSinkWantsNoMore) {
  bool ended = false;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmuch\r\n");
    ended = peer.Ended();
  }});
  Recorder recorder;
  recorder.on_body = [] { return false; };
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  EXPECT_EQ(recorder.body, "much");
  EXPECT_EQ(client_->connections(), 0);
  server_.Join();
  EXPECT_TRUE(ended);
}

TEST_F(ClientTest, CarriesManyExchangesAtOnce) {
  constexpr int kMany = 50;
  server_.Play(std::vector<PeerServer::Script>(kMany, AnswerOk));
  Start(Options());
  std::vector<Recorder> recorders(kMany);
  std::vector<std::optional<ClientResult>> results(kMany);
  const ClientRequest request = Get("/");
  for (int i = 0; i < kMany; ++i) Begin(request, recorders[i], &results[i]);
  Run();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(results[i].has_value());
    EXPECT_EQ(results[i]->error, ClientError::kNone);
    EXPECT_EQ(recorders[i].body, "ok");
  }
}

TEST_F(ClientTest, RefusesHeadersThatCannotBeSent) {
  ClientOptions options = Options();
  options.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(Client::Create(context_.get_executor(), options, clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan::http
