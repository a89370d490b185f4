// What can go wrong between a client and a server, and what it is called.
#include "tests/http/client_fixture.h"

namespace banyan::http {
namespace {

using testing::HasSubstr;

constexpr char kShort[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";

TEST_F(ClientTest, IsRefusedWhereNobodyListens) {
  const BoundPort port(BoundPort::Listening::kNo);
  ClientOptions options = Options();
  options.base.port = port.port();
  Start(options);
  Recorder recorder;
  const ClientResult result = Ask(recorder);
  EXPECT_EQ(result.error, ClientError::kRefused);
  EXPECT_THAT(result.what, HasSubstr("127.0.0.1:" + std::to_string(port.port())));
  EXPECT_THAT(result.what, HasSubstr("refused"));
  EXPECT_EQ(recorder.sent, 0);
  EXPECT_EQ(client_->connections(), 0);
}

TEST_F(ClientTest, CannotResolveWhatIsNoName) {
  ClientOptions options = Options();
  // Longer than a label may be, so that no name server is asked.
  options.base.host = std::string(64, 'a') + ".invalid";
  Start(options);
  for (int i = 0; i < 2; ++i) {
    const ClientResult result = Ask();
    EXPECT_EQ(result.error, ClientError::kUnresolved);
    EXPECT_THAT(result.what, HasSubstr(options.base.host));
  }
}

TEST_F(ClientTest, TellsAllWhoWaitThatANameIsNone) {
  ClientOptions options = Options();
  options.base.host = std::string(64, 'a') + ".invalid";
  Start(options);
  Recorder recorders[3];
  std::optional<ClientResult> results[3];
  const ClientRequest request = Get("/");
  for (int i = 0; i < 3; ++i) Begin(request, recorders[i], &results[i]);
  Run();
  for (const auto& result : results) {
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error, ClientError::kUnresolved);
  }
}

TEST_F(ClientTest, SaysThatTheConnectionBroke) {
  Serve({[](Peer& peer) {
           peer.ReadRequest();
           peer.Reset();
         },
         [](Peer& peer) {
           peer.ReadRequest();
           peer.Reset();
         }});
  Recorder recorder;
  const ClientResult result = Ask(recorder);
  EXPECT_EQ(result.error, ClientError::kReset);
  EXPECT_EQ(recorder.sent, 1) << "a first request on a connection is not sent again";
  EXPECT_EQ(Ask().error, ClientError::kReset);
}

// A socket tells of a reset once: to the write here, so that what is read is a plain end.
TEST_F(ClientTest, SaysThatTheConnectionBrokeBeforeTheRequest) {
  Signal sending;
  Serve({[&](Peer& peer) {
    ASSERT_TRUE(sending.Wait());
    peer.Reset();
  }});
  Recorder recorder;
  SendIntoReset(recorder, sending);
  const ClientResult result = Ask(recorder);
  server_.Join();
  EXPECT_EQ(result.error, ClientError::kReset);
  EXPECT_THAT(result.what, HasSubstr("the connection broke: "));
  EXPECT_EQ(recorder.sent, 1);
  EXPECT_EQ(client_->connections(), 0);
}

TEST_F(ClientTest, TakesOfAConnectionThatBrokeUnderTheRequestOnlyWhatIsKnownToBeAll) {
  // More than sockets hold: the client is writing when the connection ends.
  const std::string body(32 << 20, 'b');
  struct Case {
    std::string answer;
    bool ends;  // the server ends its side before the reset
    ClientError error;
  };
  const std::string until_end = "HTTP/1.1 200 OK\r\n\r\nall";
  for (const Case& c :
       {Case{"", false, ClientError::kReset}, Case{"", true, ClientError::kTruncated},
        Case{kShort, false, ClientError::kReset}, Case{kShort, true, ClientError::kTruncated},
        Case{until_end, false, ClientError::kReset}, Case{until_end, true, ClientError::kNone},
        Case{Answer("all"), false, ClientError::kNone},
        Case{Answer("all"), true, ClientError::kNone}}) {
    PeerServer server;
    server.Play({[&](Peer& peer) {
      peer.ReadSome();
      peer.Send(c.answer);
      if (c.ends) peer.ShutdownWrite();
      EXPECT_TRUE(peer.Deliver());
      peer.Reset();
    }});
    ClientOptions options = Options();
    options.base.port = server.port();
    Start(options);
    Recorder recorder;
    EXPECT_EQ(Ask(recorder, Post("/", body)).error, c.error) << c.answer << c.ends;
    EXPECT_TRUE(c.answer.ends_with(recorder.body)) << "what came before the reset is handed on";
    EXPECT_EQ(recorder.body.empty(), c.answer.empty());
    EXPECT_EQ(client_->connections(), 0);
  }
}

TEST_F(ClientTest, SaysThatTheConnectionBrokeWithinAnAnswer) {
  Signal seen;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    peer.Send(kShort);
    ASSERT_TRUE(seen.Wait());
    peer.Reset();
  }});
  Recorder recorder;
  recorder.on_body = [&] {
    seen.Set();
    return true;
  };
  EXPECT_EQ(Ask(recorder).error, ClientError::kReset);
  server_.Join();
  EXPECT_EQ(recorder.body, "hello");
}

TEST_F(ClientTest, SaysThatAnAnswerIsNotComplete) {
  for (const char* answer :
       {"", "HTTP/1.1 200", kShort,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    PeerServer server;
    server.Play({[&](Peer& peer) {
      peer.ReadRequest();
      peer.Send(answer);
    }});
    ClientOptions options = Options();
    options.base.port = server.port();
    Start(options);
    EXPECT_EQ(Ask().error, ClientError::kTruncated) << answer;
    EXPECT_EQ(client_->connections(), 0);
  }
}

TEST_F(ClientTest, SaysThatAnAnswerIsNotHttp) {
  bool ended = false;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    peer.Send("220 mail.example.org ESMTP\r\n\r\n");
    ended = peer.Ended();
  }});
  const ClientResult result = Ask();
  EXPECT_EQ(result.error, ClientError::kMalformed);
  EXPECT_EQ(client_->connections(), 0);
  server_.Join();
  EXPECT_TRUE(ended);
}

TEST_F(ClientTest, BoundsAnswers) {
  for (const std::size_t bytes : {9, 10, 11}) {
    PeerServer server;
    server.Play({[&](Peer& peer) {
      peer.ReadRequest();
      peer.Send(Answer(std::string(bytes, 'x')));
    }});
    ClientOptions options = Options();
    options.base.port = server.port();
    options.max_answer_bytes = 10;
    Start(options);
    const ClientResult result = Ask();
    const bool over = bytes > 10;
    EXPECT_EQ(result.error, over ? ClientError::kMalformed : ClientError::kNone) << bytes;
    EXPECT_THAT(result.what, HasSubstr(over ? "limit of 10 bytes" : ""));
  }
}

TEST_F(ClientTest, TimesOutWhenNothingComes) {
  Serve({[this](Peer& peer) {
    peer.ReadRequest();
    clock_.Advance(kReadTimeout);
    EXPECT_TRUE(peer.Ended());
  }});
  const ClientResult result = Ask();
  EXPECT_EQ(result.error, ClientError::kTimeout);
  EXPECT_THAT(result.what, HasSubstr("nothing came"));
  EXPECT_EQ(client_->connections(), 0);
}

TEST_F(ClientTest, TimesOutWhenNothingMoreComes) {
  Signal seen;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    peer.Send(kShort);
    ASSERT_TRUE(seen.Wait());
    clock_.Advance(kReadTimeout);
    EXPECT_TRUE(peer.Ended());
  }});
  Recorder recorder;
  recorder.on_body = [&] {
    seen.Set();
    return true;
  };
  const ClientResult result = Ask(recorder);
  server_.Join();
  EXPECT_EQ(result.error, ClientError::kTimeout);
  EXPECT_THAT(result.what, HasSubstr("silent"));
}

TEST_F(ClientTest, WaitsAnewAfterEachByte) {
  constexpr Tick kAlmost = Tick(kReadTimeout) - Tick(1);
  Signal seen;
  Serve({[&](Peer& peer) {
    peer.ReadRequest();
    clock_.Advance(kAlmost);
    peer.Send(kShort);
    ASSERT_TRUE(seen.Wait());
    clock_.Advance(kAlmost);
    peer.Send("world");
  }});
  Recorder recorder;
  recorder.on_body = [&] {
    if (recorder.body == "hello") seen.Set();
    return true;
  };
  EXPECT_EQ(Ask(recorder).error, ClientError::kNone);
  server_.Join();
  EXPECT_EQ(recorder.body, "helloworld");
}

TEST_F(ClientTest, TimesOutWhenTheServerTakesNoMoreOfTheRequest) {
  const std::string body(32 << 20, 'b');
  Signal timed_out;
  Serve({[&](Peer& peer) {
    peer.ReadSome();
    EXPECT_TRUE(timed_out.Wait());
  }});
  std::optional<ClientResult> result;
  Recorder recorder;
  const ClientRequest request = Post("/", body);
  Begin(request, recorder, &result);
  context_.restart();
  while (!result) {
    context_.run_one_for(std::chrono::milliseconds(5));
    clock_.Advance(std::chrono::milliseconds(1));
  }
  timed_out.Set();
  server_.Join();
  EXPECT_EQ(result->error, ClientError::kTimeout);
}

TEST_F(ClientTest, TimesOutWhenAConnectionIsNotTaken) {
  BoundPort port(BoundPort::Listening::kYes);
  port.Fill();
  ClientOptions options = Options();
  options.base.port = port.port();
  Start(options);
  Recorder recorder;
  const ClientResult result = AskAndThen(recorder, [&] {
    EXPECT_EQ(client_->connections(), 1);
    clock_.Advance(kConnectTimeout);
  });
  EXPECT_EQ(result.error, ClientError::kTimeout);
  EXPECT_EQ(recorder.sent, 0);
}

}  // namespace
}  // namespace banyan::http
