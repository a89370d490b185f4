#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

// borders[n]: the length of the longest proper prefix of `text` that its first n bytes also end in.
// Source: Knuth, Morris, Pratt 1977, "Fast pattern matching in strings".
std::vector<std::size_t> Borders(std::string_view text) {
  std::vector<std::size_t> borders(text.size() + 1, 0);
  std::size_t border = 0;
  for (std::size_t n = 1; n < text.size(); ++n) {
    while (border > 0 && text[n] != text[border]) border = borders[border];
    if (text[n] == text[border]) ++border;
    borders[n + 1] = border;
  }
  return borders;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  CHECK(stops.size() <= kMaxStopStrings);
  for (std::string& text : stops) {
    CHECK(!text.empty() && text.size() <= kMaxStopStringBytes);
    std::vector<std::size_t> borders = Borders(text);
    stops_.push_back({.text = std::move(text), .borders = std::move(borders)});
  }
}

std::size_t StopMatcher::Stop::Advance(char byte) {
  while (matched > 0 && text[matched] != byte) matched = borders[matched];
  if (text[matched] == byte) ++matched;
  return matched;
}

StopMatcher::Output StopMatcher::Push(std::string_view text) {
  if (stopped_) return {.text = "", .stopped = true};
  held_.append(text);
  std::size_t open = 0;  // bytes at the end that begin a stop string
  for (std::size_t at = held_.size() - text.size(); at < held_.size(); ++at) {
    std::size_t found = 0;  // the longest stop string that ends here: it starts first
    open = 0;
    for (Stop& stop : stops_) {
      const std::size_t matched = stop.Advance(held_[at]);
      open = std::max(open, matched);
      if (matched == stop.text.size()) found = std::max(found, matched);
    }
    if (found > 0) {
      held_.resize(at + 1 - found);
      stopped_ = true;
      return {.text = std::exchange(held_, {}), .stopped = true};
    }
  }
  if (text.empty()) return {};
  Output output = {.text = held_.substr(0, held_.size() - open), .stopped = false};
  held_.erase(0, held_.size() - open);
  return output;
}

std::string StopMatcher::Finish() { return std::exchange(held_, {}); }

}  // namespace banyan::text
