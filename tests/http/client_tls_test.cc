// The client over TLS.
#include <cstdlib>
#include <fstream>

#include "tests/http/certificate.h"
#include "tests/http/client_fixture.h"

namespace banyan::http {
namespace {

using testing::HasSubstr;

class TlsClientTest : public ClientTest {
 protected:
  // What the system trusts is many, and no part of these tests.
  static void SetUpTestSuite() {
    ::setenv("SSL_CERT_FILE", "/dev/null", /*overwrite=*/1);
    ::setenv("SSL_CERT_DIR", "/dev/null", /*overwrite=*/1);
  }

  ClientOptions TlsOptions(const std::string& host, const std::string& ca_file) const {
    ClientOptions options = Options();
    options.base.tls = true;
    options.base.host = host;
    options.ca_file = ca_file;
    return options;
  }
  // A server that answers "ok" to as many requests as come over one connection.
  PeerServer::Script AnswerAll(int requests = 1) {
    return [this, requests](Peer& peer) {
      accepted_ = peer.AcceptTls(certificate_.context());
      server_name_ = peer.server_name();
      for (int i = 0; accepted_ && i < requests; ++i) AnswerOk(peer);
    };
  }

  Certificate certificate_{"DNS:localhost,IP:127.0.0.1"};
  bool accepted_ = false;
  std::string server_name_;
};

TEST_F(TlsClientTest, TrustsACertificateOfTheFile) {
  server_.Play({AnswerAll(2)});
  Start(TlsOptions("localhost", certificate_.file()));
  Recorder recorder;
  const ClientResult first = Ask(recorder, Post("/", "{}"));
  EXPECT_EQ(first.error, ClientError::kNone) << first.what;
  EXPECT_EQ(recorder.body, "ok");
  const ClientResult second = Ask();
  EXPECT_EQ(second.error, ClientError::kNone) << second.what;
  EXPECT_TRUE(second.reused);
  server_.Join();
  EXPECT_EQ(server_name_, "localhost");
}

TEST_F(TlsClientTest, ComparesAddressesToo) {
  server_.Play({AnswerAll()});
  Start(TlsOptions("127.0.0.1", certificate_.file()));
  EXPECT_EQ(Ask().error, ClientError::kNone);
  server_.Join();
  EXPECT_EQ(server_name_, "") << "an address is not named to the server";
}

TEST_F(TlsClientTest, TrustsNobodyElse) {
  server_.Play({AnswerAll()});
  Start(TlsOptions("localhost", ""));
  Recorder recorder;
  const ClientResult result = Ask(recorder);
  EXPECT_EQ(result.error, ClientError::kTls);
  EXPECT_THAT(result.what, HasSubstr("self-signed"));
  EXPECT_EQ(recorder.sent, 0);
  EXPECT_EQ(client_->connections(), 0);
  server_.Join();
  EXPECT_FALSE(accepted_);
}

TEST_F(TlsClientTest, DoesNotTakeACertificateOfAnotherHost) {
  const Certificate other("DNS:example.org");
  server_.Play({[&](Peer& peer) { accepted_ = peer.AcceptTls(other.context()); }});
  Start(TlsOptions("localhost", other.file()));
  EXPECT_EQ(Ask().error, ClientError::kTls);
}

TEST_F(TlsClientTest, TakesAnyCertificateWhereAskedTo) {
  server_.Play({AnswerAll()});
  ClientOptions options = TlsOptions("localhost", "");
  options.verify_peer = false;
  Start(options);
  EXPECT_EQ(Ask().error, ClientError::kNone);
}

TEST_F(TlsClientTest, SaysThatAServerSpeaksNoTls) {
  server_.Play({[](Peer& peer) {
    peer.ReadSome();
    peer.Send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  }});
  Start(TlsOptions("localhost", ""));
  EXPECT_EQ(Ask().error, ClientError::kTls);
}

TEST_F(TlsClientTest, SaysThatAHandshakeBroke) {
  server_.Play({[](Peer& peer) { peer.ReadSome(); }});
  Start(TlsOptions("localhost", ""));
  EXPECT_EQ(Ask().error, ClientError::kTls);
}

TEST_F(TlsClientTest, TimesOutInAHandshake) {
  server_.Play({[this](Peer& peer) {
    peer.ReadSome();
    clock_.Advance(kConnectTimeout);
    EXPECT_TRUE(peer.Ended());
  }});
  Start(TlsOptions("localhost", ""));
  EXPECT_EQ(Ask().error, ClientError::kTimeout);
}

TEST_F(TlsClientTest, CarriesLargeBodiesBothWays) {
  const std::string body(3 << 20, 'b');
  std::string request;
  server_.Play({[&](Peer& peer) {
    ASSERT_TRUE(peer.AcceptTls(certificate_.context()));
    request = peer.ReadRequest();
    peer.Send(Answer(body));
  }});
  Start(TlsOptions("localhost", certificate_.file()));
  Recorder recorder;
  EXPECT_EQ(Ask(recorder, Post("/", body)).error, ClientError::kNone);
  server_.Join();
  EXPECT_TRUE(recorder.body == body);
  EXPECT_TRUE(request.ends_with(body));
}

TEST_F(TlsClientTest, TakesTheEndOfTlsForTheEndOfAnAnswerButNotThatOfTheConnection) {
  for (const bool said : {true, false}) {
    PeerServer server;
    server.Play({[&](Peer& peer) {
      ASSERT_TRUE(peer.AcceptTls(certificate_.context()));
      peer.ReadRequest();
      peer.Send("HTTP/1.1 200 OK\r\n\r\nall");
      if (said) peer.EndTls();
    }});
    ClientOptions options = TlsOptions("localhost", certificate_.file());
    options.base.port = server.port();
    Start(options);
    Recorder recorder;
    EXPECT_EQ(Ask(recorder).error, said ? ClientError::kNone : ClientError::kTruncated);
    EXPECT_EQ(recorder.body, "all");
  }
}

TEST_F(TlsClientTest, SaysThatTheConnectionBrokeBeforeTheRequest) {
  Signal sending;
  server_.Play({[&](Peer& peer) {
    ASSERT_TRUE(peer.AcceptTls(certificate_.context()));
    ASSERT_TRUE(sending.Wait());
    peer.Reset();
  }});
  Start(TlsOptions("localhost", certificate_.file()));
  Recorder recorder;
  SendIntoReset(recorder, sending);
  const ClientResult result = Ask(recorder);
  server_.Join();
  EXPECT_EQ(result.error, ClientError::kReset);
  EXPECT_THAT(result.what, HasSubstr("the connection broke: "));
}

TEST_F(TlsClientTest, TakesOfAConnectionThatBrokeUnderTheRequestOnlyWhatTlsSaysIsAll) {
  const std::string body(32 << 20, 'b');
  for (const bool said : {true, false}) {
    PeerServer server;
    server.Play({[&](Peer& peer) {
      ASSERT_TRUE(peer.AcceptTls(certificate_.context()));
      peer.ReadSome();
      peer.Send("HTTP/1.1 200 OK\r\n\r\nall");
      if (said) peer.EndTls();
      EXPECT_TRUE(peer.Deliver());
      peer.Reset();
    }});
    ClientOptions options = TlsOptions("localhost", certificate_.file());
    options.base.port = server.port();
    Start(options);
    Recorder recorder;
    EXPECT_EQ(Ask(recorder, Post("/", body)).error,
              said ? ClientError::kNone : ClientError::kReset);
    EXPECT_EQ(recorder.body, "all");
  }
}

TEST_F(TlsClientTest, ReplacesAnIdleConnectionThatTheServerClosed) {
  server_.Play({AnswerAll(), AnswerAll()});
  Start(TlsOptions("localhost", certificate_.file()));
  EXPECT_EQ(Ask().error, ClientError::kNone);
  const ClientResult second = Ask();
  EXPECT_EQ(second.error, ClientError::kNone) << second.what;
  EXPECT_FALSE(second.reused);
}

// What came with the answer is in TLS's buffers, and no longer in the socket.
TEST_F(TlsClientTest, DoesNotUseAConnectionAgainThatSpokeUnasked) {
  Signal spoken;
  server_.Play({[&](Peer& peer) {
                  ASSERT_TRUE(peer.AcceptTls(certificate_.context()));
                  peer.Send(Answer("ok"));
                  peer.Send("HTTP/1.1 408 Request Timeout\r\n\r\n");
                  EXPECT_TRUE(peer.Deliver());
                  spoken.Set();
                  peer.ReadRequest();
                  EXPECT_TRUE(peer.Ended());
                },
                AnswerAll()});
  Start(TlsOptions("localhost", certificate_.file()));
  Recorder first;
  first.on_sent = [&] { EXPECT_TRUE(spoken.Wait()); };
  EXPECT_EQ(Ask(first).error, ClientError::kNone);
  EXPECT_EQ(first.body, "ok");
  Recorder second;
  const ClientResult result = Ask(second);
  server_.Join();
  EXPECT_EQ(result.error, ClientError::kNone) << result.what;
  EXPECT_FALSE(result.reused);
  EXPECT_EQ(second.status, 200);
}

TEST_F(TlsClientTest, StopsAHandshake) {
  server_.Play({[](Peer& peer) { EXPECT_TRUE(peer.Ended() || peer.Ended()); }});
  Start(TlsOptions("127.0.0.1", ""));
  Recorder recorder;
  EXPECT_EQ(AskAndThen(recorder, [&] { client_->Stop(); }).error, ClientError::kStopped);
}

TEST_F(TlsClientTest, RefusesAFileWithoutCertificates) {
  const auto code = [this](const std::string& file) {
    return Client::Create(context_.get_executor(), TlsOptions("localhost", file), clock_)
        .status()
        .code();
  };
  EXPECT_EQ(code("/no/such/file.pem"), absl::StatusCode::kInvalidArgument);
  const std::string file = testing::TempDir() + "banyan_no_certificate.pem";
  std::ofstream(file) << "nothing of the kind\n";
  EXPECT_EQ(code(file), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan::http
