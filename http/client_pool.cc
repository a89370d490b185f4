#include "http/client_pool.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include "absl/strings/str_cat.h"

namespace banyan::http {
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

namespace {

// How late a timeout may be noticed: a fraction of it, within these.
constexpr int kPeriodFraction = 16;
constexpr std::chrono::milliseconds kMinPeriod{1};
constexpr std::chrono::milliseconds kMaxPeriod{100};

std::chrono::milliseconds Period(const ClientOptions& options) {
  const auto shortest = std::min(options.connect_timeout, options.read_timeout);
  return std::clamp(shortest / kPeriodFraction, kMinPeriod, kMaxPeriod);
}

AnswerParser::Content ContentOf(const ClientRequest& request) {
  return request.method == "HEAD" ? AnswerParser::Content::kHeadOnly
                                  : AnswerParser::Content::kWhole;
}

}  // namespace

ClientPool::Job::Job(ClientPool& of, ConnectionPtr over, const ClientRequest& asked, AnswerSink& to)
    : pool(of),
      connection(std::move(over)),
      request(asked),
      sink(to),
      parser(ContentOf(asked), of.options_.max_answer_bytes, to),
      place(of.deadlines_->Add(*connection, of.clock_.Now() + of.options_.connect_timeout)) {}

ClientPool::Job::~Job() { pool.deadlines_->Remove(place); }

ClientPool::ClientPool(const asio::any_io_executor& executor, ClientOptions options,
                       const Clock& clock, std::optional<ssl::context> tls)
    : executor_(executor),
      options_(std::move(options)),
      clock_(clock),
      place_(PlaceOf(options_.base)),
      writer_(options_),
      tls_(std::move(tls)),
      addresses_(std::make_shared<Addresses>(executor, options_.base.host, options_.base.port)),
      deadlines_(std::make_shared<Deadlines>(executor, clock, Period(options_),
                                             [addresses = addresses_] { addresses->Wake(); })) {}

void ClientPool::Stop() {
  stopped_ = true;
  idle_.clear();
  deadlines_->CloseAll(ClientError::kStopped);
}

ClientPool::ConnectionPtr ClientPool::TakeIdle() {
  while (!idle_.empty()) {
    ConnectionPtr connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->Quiet()) return connection;
  }
  return nullptr;
}

void ClientPool::PutIdle(ConnectionPtr connection) {
  if (stopped_ || idle_.size() >= options_.max_idle_connections) return;
  idle_.push_back(std::move(connection));
}

asio::awaitable<ClientResult> ClientPool::Exchange(
    [[maybe_unused]] std::shared_ptr<ClientPool> self, const ClientRequest& request,
    AnswerSink& sink) {
  ConnectionPtr connection = TakeIdle();
  for (;;) {
    const bool reused = connection != nullptr;
    if (!reused) connection = std::make_unique<ClientConnection>(executor_);
    ClientResult result;
    bool again = false;
    {
      Job job(*this, std::move(connection), request, sink);
      job.result.reused = reused;
      co_await Run(job);
      const ClientError error = job.result.error;
      again = reused && !job.parser.begun() &&
              (error == ClientError::kReset || error == ClientError::kTruncated);
      if (job.reusable) PutIdle(std::move(job.connection));
      result = std::move(job.result);
    }
    if (!again) co_return result;
  }
}

asio::awaitable<void> ClientPool::Run(Job& job) {
  if (stopped_) job.connection->Close(ClientError::kStopped);
  if (Closed(job)) co_return;
  if (!job.result.reused) co_await Open(job);
  if (job.result.error == ClientError::kNone) co_await Send(job);
  if (job.result.error == ClientError::kNone) co_await Receive(job);
}

asio::awaitable<void> ClientPool::Open(Job& job) {
  while (!addresses_->known()) {
    const ErrorCode error = co_await addresses_->Find();
    if (Closed(job)) co_return;
    if (error && error != asio::error::operation_aborted) {
      Fail(job, ClientError::kUnresolved,
           absl::StrCat("cannot find the host ", options_.base.host, ": ", error.message()));
      co_return;
    }
  }
  co_await Connect(job);
  if (job.result.error != ClientError::kNone || !tls_) co_return;
  const ErrorCode error = co_await job.connection->Handshake(*tls_, options_.base.host);
  if (Closed(job) || !error) co_return;
  const std::string distrust = job.connection->DistrustOfPeer();
  Fail(job, ClientError::kTls,
       absl::StrCat("no TLS with ", place_, ": ", distrust.empty() ? error.message() : distrust));
}

asio::awaitable<void> ClientPool::Connect(Job& job) {
  // A copy: others may prefer another one meanwhile.
  const std::vector<Addresses::Endpoint> endpoints = addresses_->endpoints();
  ErrorCode error;
  for (const Addresses::Endpoint& endpoint : endpoints) {
    error = co_await job.connection->Connect(endpoint);
    if (Closed(job)) co_return;
    if (!error) {
      addresses_->Prefer(endpoint);
      co_return;
    }
  }
  Fail(job, ClientError::kRefused,
       absl::StrCat("cannot connect to ", place_, ": ", error.message()));
}

asio::awaitable<void> ClientPool::Send(Job& job) {
  const std::string bytes = writer_.Bytes(job.request);
  const Tick now = clock_.Now();
  deadlines_->Move(job.place, now + options_.read_timeout);
  job.sink.OnSent(now);
  std::string_view rest = bytes;
  while (!Closed(job) && !rest.empty()) {
    const auto [error, written] = co_await job.connection->Write(rest);
    if (error) {
      // A server may answer before it has read everything, and then close: the answer counts, so
      // reading says what happened. But a socket tells of a reset once, and this write was told;
      // reading would end as if the server had ended. With broken_pipe it had, before the reset.
      if (error != asio::error::broken_pipe) job.broken = error;
      co_return;
    }
    rest.remove_prefix(written);
    if (!rest.empty()) deadlines_->Move(job.place, clock_.Now() + options_.read_timeout);
  }
  job.sent = rest.empty();
}

asio::awaitable<void> ClientPool::Receive(Job& job) {
  constexpr std::size_t kBytes = AnswerParser::kMaxHeadBytes;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kBytes);
  std::size_t held = 0;
  while (!Closed(job)) {
    const auto [error, received] =
        co_await job.connection->Read(asio::buffer(buffer.get() + held, kBytes - held));
    const Tick at = clock_.Now();
    if (Closed(job)) co_return;
    if (error) co_return End(job, error);
    deadlines_->Move(job.place, at + options_.read_timeout);
    held += received;
    const std::size_t used = job.parser.Feed({buffer.get(), held}, at);
    if (Closed(job)) co_return;
    held -= used;
    if (job.parser.state() == AnswerParser::State::kDone) {
      // Bytes behind the answer belong to none.
      job.reusable = options_.keep_alive && job.sent && job.parser.persistent() && held == 0;
      co_return;
    }
    if (!job.parser.wanted()) co_return;
    if (job.parser.state() == AnswerParser::State::kFailed) {
      co_return Fail(job, job.parser.error(), job.parser.what());
    }
    std::memmove(buffer.get(), buffer.get() + used, held);
  }
}

void ClientPool::End(Job& job, ErrorCode error) {
  // Neither is a word of the server's: TCP ends so when the write has taken its reset.
  const bool cut = error == ssl::error::stream_truncated || (error == asio::error::eof && !tls_);
  if (cut && job.broken) error = job.broken;
  if (error == asio::error::eof) {
    job.parser.End();
    if (job.parser.state() == AnswerParser::State::kDone) return;
    Fail(job, job.parser.error(), job.parser.what());
  } else if (error == ssl::error::stream_truncated) {
    // Whoever cuts the connection cannot pass for the end of an answer (RFC 9112, 9.8).
    Fail(job, ClientError::kTruncated, "closed without the end of TLS");
  } else if (error.category() == asio::error::get_ssl_category()) {
    Fail(job, ClientError::kTls, absl::StrCat("TLS with ", place_, " failed: ", error.message()));
  } else {
    Fail(job, ClientError::kReset, absl::StrCat("the connection broke: ", error.message()));
  }
}

void ClientPool::Fail(Job& job, ClientError error, std::string what) const {
  job.result.error = error;
  job.result.what = std::move(what);
}

bool ClientPool::Closed(Job& job) const {
  const ClientError why = job.connection->closed();
  if (why == ClientError::kNone) return false;
  const bool begun = job.parser.begun();
  Fail(job, why,
       why == ClientError::kStopped ? "stopped"
       : begun                      ? "the server fell silent within its answer"
                                    : absl::StrCat("nothing came from ", place_));
  return true;
}

}  // namespace banyan::http
