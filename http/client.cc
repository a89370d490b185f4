#include "http/client.h"

#include <optional>
#include <utility>

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"
#include "http/client_pool.h"
#include "http/client_request.h"

namespace banyan::http {
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

namespace {

class PooledClient final : public Client {
 public:
  explicit PooledClient(std::shared_ptr<ClientPool> pool) : pool_(std::move(pool)) {}
  ~PooledClient() override { Stop(); }

  asio::awaitable<ClientResult> Exchange(const ClientRequest& request, AnswerSink& sink) override {
    return pool_->Exchange(pool_, request, sink);
  }
  void Stop() override { pool_->Stop(); }
  std::size_t connections() const override { return pool_->connections(); }

 private:
  const std::shared_ptr<ClientPool> pool_;
};

absl::StatusOr<ssl::context> MakeContext(const ClientOptions& options) {
  boost::system::error_code error;
  boost::system::error_code ignored;
  ssl::context context(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  // An idle connection, or a stream between two events, holds no buffers.
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  // A system without certificates trusts those of ca_file alone. They are many, so they are read
  // only where they count.
  if (options.base.tls && options.verify_peer) context.set_default_verify_paths(ignored);
  if (!options.ca_file.empty()) {
    context.load_verify_file(options.ca_file, error);
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot read certificates from ", Quote(options.ca_file), ": ", error.message()));
    }
  }
  context.set_verify_mode(options.verify_peer ? ssl::verify_peer : ssl::verify_none);
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(asio::any_io_executor executor,
                                                       ClientOptions options, const Clock& clock) {
  if (absl::Status status = CheckHeaders(options.headers); !status.ok()) return status;
  absl::StatusOr<ssl::context> context = MakeContext(options);
  if (!context.ok()) return context.status();
  std::optional<ssl::context> tls;
  if (options.base.tls) tls.emplace(*std::move(context));
  auto pool = std::make_shared<ClientPool>(executor, std::move(options), clock, std::move(tls));
  return std::make_unique<PooledClient>(std::move(pool));
}

}  // namespace banyan::http
