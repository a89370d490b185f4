// Any bytes as HTTP requests: refused with a status that says why, or within bounds, and to the
// same end however they are cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/request_parser.h"
#include "http/target.h"

namespace {

using namespace banyan::http;  // NOLINT
using State = RequestParser::State;

constexpr RequestParser::Limits kLimits = {/*head_bytes=*/16 << 10, /*body_bytes=*/1 << 10};

void Require(bool holds) {
  if (!holds) std::abort();
}

// Feeds pieces of `step`, what was left in front of the next, as a connection does. What is left.
std::string Parse(RequestParser& parser, std::string_view bytes, std::size_t step) {
  std::string held;
  while (!bytes.empty()) {
    held += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    State before{};
    std::size_t used = 0;
    do {  // it stops where the head ends, and then takes more
      before = parser.state();
      if (before == State::kDone || before == State::kFailed) return held.append(bytes);
      used = parser.Feed(held);
      held.erase(0, used);
    } while (used > 0 || parser.state() != before);
    Require(held.size() <= kLimits.head_bytes);
  }
  return held;
}

void RequireBounds(RequestParser& parser) {
  const Request& request = parser.request();
  Require(!request.method.empty() && !parser.target().empty());
  // Announced lengths are for whoever reads the head to refuse.
  Require(request.body.size() <= parser.body_length().value_or(kLimits.body_bytes));
  for (const auto& [name, value] : request.headers) {
    Require(!name.empty());
    Require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
  ParseTarget(parser.target());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Longer ones meet the bound of a head, which depends on how they are cut.
  if (size >= kLimits.head_bytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RequestParser whole(kLimits);
  RequestParser cut(kLimits);
  const std::string left_of_whole = Parse(whole, bytes, std::max<std::size_t>(size, 1));
  const std::string left_of_cut = Parse(cut, bytes, 1 + size % 7);
  // What is no request is known as soon as its line is read, or when its head ends.
  Require((whole.state() == State::kDone) == (cut.state() == State::kDone));
  if (whole.state() == State::kFailed) {
    const int status = whole.error().status;
    Require(status == 400 || status == 413 || status == 431);
    Require(!whole.error().code.empty() && !whole.error().message.empty());
  }
  if (whole.state() != State::kDone) return 0;
  RequireBounds(whole);
  Require(left_of_whole == left_of_cut);
  Require(whole.request().method == cut.request().method && whole.target() == cut.target());
  Require(whole.request().headers == cut.request().headers);
  Require(whole.request().body == cut.request().body);
  Require(whole.persistent() == cut.persistent());
  return 0;
}
