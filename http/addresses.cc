#include "http/addresses.h"

#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>

#include "http/await.h"

namespace banyan::http {
namespace asio = boost::asio;
using boost::system::error_code;

Addresses::Addresses(asio::any_io_executor executor, std::string host, std::uint16_t port)
    : host_(std::move(host)),
      port_(std::to_string(port)),
      resolver_(executor),
      changed_(executor, asio::steady_timer::time_point::max()) {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(host_, error);
  if (!error) endpoints_.emplace_back(address, port);
}

asio::awaitable<error_code> Addresses::Find() {
  if (known()) co_return error_code();
  if (!looking_) Begin();
  const std::uint64_t before = lookups_;
  co_await changed_.async_wait(kAwait);
  if (known()) co_return error_code();
  if (lookups_ == before) co_return asio::error::operation_aborted;
  co_return error_;
}

void Addresses::Wake() { changed_.cancel(); }

void Addresses::Begin() {
  looking_ = true;
  resolver_.async_resolve(
      host_, port_, Resolver::numeric_service,
      [weak = weak_from_this()](error_code error, const Resolver::results_type& results) {
        if (const std::shared_ptr<Addresses> self = weak.lock()) self->Done(error, results);
      });
}

void Addresses::Done(error_code error, const Resolver::results_type& results) {
  looking_ = false;
  ++lookups_;
  error_ = error;
  for (const auto& result : results) {
    const Endpoint endpoint = result.endpoint();
    if (std::find(endpoints_.begin(), endpoints_.end(), endpoint) == endpoints_.end()) {
      endpoints_.push_back(endpoint);
    }
  }
  if (!error_ && endpoints_.empty()) error_ = asio::error::host_not_found;
  Wake();
}

void Addresses::Prefer(const Endpoint& endpoint) {
  const auto found = std::find(endpoints_.begin(), endpoints_.end(), endpoint);
  if (found != endpoints_.end()) std::rotate(endpoints_.begin(), found, found + 1);
}

}  // namespace banyan::http
