// The addresses of one host: looked up once, however many ask at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace banyan::http {

// Held by shared_ptr: a lookup under way may outlive whoever began it.
class Addresses : public std::enable_shared_from_this<Addresses> {
 public:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  Addresses(boost::asio::any_io_executor executor, std::string host, std::uint16_t port);

  // Returns when known() holds, or with why it does not, or with operation_aborted after Wake().
  // A failure is not remembered: the next call looks again.
  boost::asio::awaitable<boost::system::error_code> Find();
  void Wake();  // all who wait

  bool known() const { return !endpoints_.empty(); }
  // In the order of trying them.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  // This one took a connection: it is tried first from now on.
  void Prefer(const Endpoint& endpoint);

 private:
  using Resolver = boost::asio::ip::tcp::resolver;

  void Begin();
  void Done(boost::system::error_code error, const Resolver::results_type& results);

  const std::string host_;
  const std::string port_;
  Resolver resolver_;
  boost::asio::steady_timer changed_;  // never expires; its cancellation is the news
  bool looking_ = false;
  std::uint64_t lookups_ = 0;  // finished
  boost::system::error_code error_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace banyan::http
