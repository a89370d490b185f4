// One small question to the server, answered whole: what it serves, how it counts tokens, how it
// is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "http/client.h"

namespace banyan::loadtest {

struct Reply {
  http::ClientResult result;
  int status = 0;  // 0: none came
  std::string body;

  bool ok() const { return result.error == http::ClientError::kNone && status == 200; }
};

inline constexpr std::size_t kMaxReplyBytes = 16 << 20;  // beyond, the rest is left out

// GET where `body` is empty, else POST. The views live until it is done.
boost::asio::awaitable<Reply> Ask(http::Client& client, std::string_view target,
                                  std::string_view body);

// Null when it is not JSON.
boost::json::value ParseReply(std::string_view body);

}  // namespace banyan::loadtest
