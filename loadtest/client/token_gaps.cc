#include <algorithm>
#include <numeric>

#include "loadtest/client/answer_reader.h"

namespace banyan::loadtest {
namespace {

// More than any answer has; sums of so many fit.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 50;

using Events = std::vector<ContentEvent>;

// Of an event, when a token has at most so many bytes.
std::int64_t TokensAt(double bytes_per_token, const ContentEvent& event) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(event.bytes / bytes_per_token));
}

std::int64_t SumAt(double bytes_per_token, const Events& events) {
  std::int64_t sum = 0;
  for (const ContentEvent& event : events) sum += TokensAt(bytes_per_token, event);
  return sum;
}

// Lengths of a token between which all events together come to have `tokens` of them: at the long
// one not more, at the short one more, but for events that get their next token at the same length.
struct Lengths {
  double shorter, longer;
};

Lengths FindLengths(const Events& events, std::int64_t tokens) {
  double total = 0;
  double most = 0;
  for (const ContentEvent& event : events) {
    total += event.bytes;
    most = std::max<double>(most, event.bytes);
  }
  const auto count = static_cast<double>(events.size());
  Lengths lengths{total / (static_cast<double>(tokens) + count + 1), most + 1};
  for (;;) {
    const double middle = std::midpoint(lengths.shorter, lengths.longer);
    if (middle <= lengths.shorter || middle >= lengths.longer) return lengths;
    const std::int64_t sum = SumAt(middle, events);
    (sum <= tokens ? lengths.longer : lengths.shorter) = middle;
    if (sum == tokens) return lengths;
  }
}

}  // namespace

void ShareTokens(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
                 const std::function<void(std::size_t event, std::int64_t tokens)>& share) {
  const auto count = static_cast<std::int64_t>(events.size());
  if (output_tokens <= count) {
    for (std::size_t i = 0; i < events.size(); ++i) share(i, 1);
    return;
  }
  if (events.empty()) return;
  const std::int64_t tokens = std::max(std::min(output_tokens, kMostTokens), count);
  const Lengths lengths = FindLengths(events, tokens);
  std::int64_t left = tokens - SumAt(lengths.longer, events);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t least = TokensAt(lengths.longer, events[i]);
    const std::int64_t more = std::min(left, TokensAt(lengths.shorter, events[i]) - least);
    left -= more;
    share(i, least + more);
  }
}

void TokenGaps(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
               const std::function<void(std::int64_t gap, std::int64_t times)>& gap) {
  ShareTokens(events, output_tokens, [&](std::size_t i, std::int64_t tokens) {
    if (i > 0) gap((events[i].at - events[i - 1].at).count() / tokens, tokens);
  });
}

}  // namespace banyan::loadtest
