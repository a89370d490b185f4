#include "http/server.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "base/check.h"
#include "http/await.h"
#include "http/connection_set.h"
#include "http/listen.h"
#include "http/session.h"
#include "http/wire.h"

namespace banyan::http {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Connections that are being told 503 at once; beyond it they are closed without a word.
constexpr int kMaxRefusing = 64;
// After a failed accept, usually for want of file descriptors.
constexpr std::chrono::milliseconds kAcceptPause{50};
// A head is held in memory until it is complete.
constexpr std::size_t kMinHeaderBytes = 256;
constexpr std::size_t kMaxHeaderBytes = 1 << 20;
// How long Stop() waits for handlers whose connection it closed.
constexpr std::chrono::seconds kCloseGrace{2};

class BeastServer final : public Server {
 public:
  BeastServer(const Options& options, std::vector<Route> routes)
      : options_(options),
        router_(std::move(routes)),
        connections_(options.max_connections),
        context_(options.io_threads) {}
  ~BeastServer() override { Stop(std::chrono::milliseconds(0)); }

  absl::Status Bind();
  std::uint16_t port() const override { return port_; }
  void Start() override;
  void StopAccepting() override;
  bool WaitIdle(std::chrono::milliseconds patience) override {
    return threads_.empty() || connections_.WaitEmpty(patience);
  }
  void Stop(std::chrono::milliseconds patience) override;
  std::size_t connections() const override { return connections_.size(); }

 private:
  asio::awaitable<void> Accept();
  void Admit(tcp::socket socket);
  asio::awaitable<void> Serve(std::shared_ptr<Connection> connection);
  asio::awaitable<void> Refuse(std::shared_ptr<Connection> connection);

  const Options options_;
  const Router router_;
  Shared shared_{options_, router_};
  ConnectionSet connections_;
  std::atomic<int> refusing_ = 0;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
  // Destroyed before all above: it destroys the coroutines that have not ended.
  asio::io_context context_;
  std::optional<tcp::acceptor> acceptor_;  // on a strand of its own
};

absl::Status BeastServer::Bind() {
  absl::StatusOr<tcp::acceptor> acceptor = ListenOn(context_, options_.host, options_.port);
  if (!acceptor.ok()) return acceptor.status();
  acceptor_.emplace(*std::move(acceptor));
  boost::system::error_code error;
  port_ = acceptor_->local_endpoint(error).port();
  return error ? absl::InternalError(error.message()) : absl::OkStatus();
}

void BeastServer::Start() {
  CHECK(threads_.empty() && !stopped_);
  asio::co_spawn(acceptor_->get_executor(), Accept(), asio::detached);
  // Without work of its own a thread would leave between the end of the listener and that of the
  // last connection's deadline.
  for (int i = 0; i < options_.io_threads; ++i) {
    threads_.emplace_back([this] {
      const auto work = asio::make_work_guard(context_);
      context_.run();
    });
  }
}

asio::awaitable<void> BeastServer::Accept() {
  asio::steady_timer pause(acceptor_->get_executor());
  bool reported = false;  // once, however long it lasts
  while (acceptor_->is_open()) {
    const asio::any_io_executor strand = asio::make_strand(context_);
    auto [error, socket] = co_await acceptor_->async_accept(strand, kAwait);
    if (!error) {
      reported = false;
      Admit(std::move(socket));
    } else if (acceptor_->is_open() && error != asio::error::connection_aborted) {
      if (!reported) shared_.Report("Cannot accept a connection: " + error.message());
      reported = true;
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kAwait);
    }
  }
}

void BeastServer::Admit(tcp::socket socket) {
  if (shared_.draining) return;
  boost::system::error_code ignored;
  // Tokens are small writes that must not wait for each other.
  socket.set_option(tcp::no_delay(true), ignored);
  auto connection = std::make_shared<Connection>(std::move(socket), options_);
  const auto executor = connection->executor();
  if (connections_.Add(connection)) {
    asio::co_spawn(executor, Serve(std::move(connection)), asio::detached);
  } else if (refusing_ < kMaxRefusing) {
    ++refusing_;
    asio::co_spawn(executor, Refuse(std::move(connection)), asio::detached);
  }
}

asio::awaitable<void> BeastServer::Serve(std::shared_ptr<Connection> connection) {
  try {
    Session session(*connection, shared_);
    co_await session.Run();
  } catch (const std::exception& exception) {
    // Out of memory, most likely: this connection ends, the others go on.
    shared_.Report(std::string("A connection failed: ") + exception.what());
  }
  connection->Close();
  connections_.Remove(connection.get());
}

asio::awaitable<void> BeastServer::Refuse(std::shared_ptr<Connection> connection) {
  Error error;
  error.status = 503;
  error.code = "too_many_connections";
  error.message = "The server has as many connections as it takes.";
  error.retry_after_seconds = 1;
  shared_.CountRefusal(error);
  try {
    Answer answer(*connection, Answer::Shape(), shared_.draining);
    if (co_await answer.SendError(error)) co_await connection->Linger();
  } catch (const std::exception& exception) {
    shared_.Report(std::string("A connection failed: ") + exception.what());
  }
  connection->Close();
  --refusing_;
}

void BeastServer::StopAccepting() {
  if (shared_.draining.exchange(true)) return;
  // A session that is added from here on sees `draining` before it waits for a request.
  asio::post(acceptor_->get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor_->close(ignored);
  });
  connections_.Post(&Connection::CloseIfIdle);
}

void BeastServer::Stop(std::chrono::milliseconds patience) {
  if (stopped_) return;
  stopped_ = true;
  if (acceptor_) StopAccepting();
  if (!threads_.empty() && !connections_.WaitEmpty(patience)) {
    connections_.Post(&Connection::Close);
    connections_.WaitEmpty(kCloseGrace);
  }
  context_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  boost::system::error_code ignored;
  if (acceptor_) acceptor_->close(ignored);
}

absl::Status Validate(const Options& options) {
  if (options.io_threads < 1) return absl::InvalidArgumentError("io_threads must be at least 1");
  if (options.max_connections < 1) {
    return absl::InvalidArgumentError("max_connections must be at least 1");
  }
  if (options.max_header_bytes < kMinHeaderBytes || options.max_header_bytes > kMaxHeaderBytes) {
    return absl::InvalidArgumentError("max_header_bytes must be from 256 to 1048576");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Listen(const Options& options,
                                                       std::vector<Route> routes) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  auto server = std::make_unique<BeastServer>(options, std::move(routes));
  if (absl::Status bound = server->Bind(); !bound.ok()) return bound;
  return server;
}

}  // namespace banyan::http
