#include "tests/http/client_fixture.h"

#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>

namespace banyan::http {
namespace asio = boost::asio;

void ClientTest::TearDown() {
  client_.reset();
  server_.Join();
}

ClientOptions ClientTest::Options() const {
  ClientOptions options;
  options.base.host = "127.0.0.1";
  options.base.port = server_.port();
  options.connect_timeout = kConnectTimeout;
  options.read_timeout = kReadTimeout;
  return options;
}

void ClientTest::Start(ClientOptions options) {
  auto client = Client::Create(context_.get_executor(), std::move(options), clock_);
  ASSERT_TRUE(client.ok()) << client.status();
  client_ = *std::move(client);
}

void ClientTest::Serve(std::vector<PeerServer::Script> scripts) {
  server_.Play(std::move(scripts));
  Start(Options());
}

void ClientTest::Begin(const ClientRequest& request, Recorder& recorder,
                       std::optional<ClientResult>* result) {
  asio::co_spawn(context_, client_->Exchange(request, recorder),
                 [result](const std::exception_ptr& exception, ClientResult done) {
                   EXPECT_EQ(exception, nullptr);
                   *result = std::move(done);
                 });
}

void ClientTest::Run() {
  context_.restart();
  context_.run();
}

ClientResult ClientTest::Ask(Recorder& recorder, const ClientRequest& request) {
  std::optional<ClientResult> result;
  Begin(request, recorder, &result);
  Run();
  EXPECT_TRUE(result.has_value());
  if (!result) return ClientResult();
  EXPECT_EQ(result->what.empty(), result->error == ClientError::kNone) << result->what;
  return *result;
}

ClientResult ClientTest::Ask() {
  Recorder recorder;
  return Ask(recorder);
}

ClientResult ClientTest::AskAndThen(Recorder& recorder, const std::function<void()>& end) {
  std::optional<ClientResult> result;
  const ClientRequest request = Get("/");
  Begin(request, recorder, &result);
  context_.poll();
  EXPECT_FALSE(result.has_value());
  end();
  Run();
  EXPECT_TRUE(result.has_value());
  return result.value_or(ClientResult());
}

void ClientTest::SendIntoReset(Recorder& recorder, Signal& sending) const {
  recorder.on_sent = [this, &recorder, &sending] {
    if (recorder.sent > 1) return;
    const int fd = ClientEnd(server_.port());
    sending.Set();
    EXPECT_TRUE(MeetsReset(fd));
  };
}

ClientRequest ClientTest::Get(std::string_view target) {
  ClientRequest request;
  request.target = target;
  return request;
}

ClientRequest ClientTest::Post(std::string_view target, std::string_view body) {
  ClientRequest request;
  request.method = "POST";
  request.target = target;
  request.body = body;
  return request;
}

std::string ClientTest::Answer(const std::string& body, const std::string& headers) {
  return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

void ClientTest::AnswerOk(Peer& peer) {
  peer.ReadRequest();
  peer.Send(Answer("ok"));
}

}  // namespace banyan::http
