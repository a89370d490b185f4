#include <algorithm>

#include "loadtest/client/answer_reader.h"

namespace banyan::loadtest {

void TokenGaps(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
               const std::function<void(std::int64_t gap, std::int64_t times)>& gap) {
  const auto count = static_cast<std::int64_t>(events.size());
  const std::int64_t extra = std::max<std::int64_t>(output_tokens - count, 0);
  std::int64_t total = 0;
  for (const ContentEvent& event : events) total += event.bytes;
  if (total == 0) return;  // no events: each has text

  // Rounded so that the shares add up to `extra`. Doubles: a product of both may not fit 64 bits.
  std::int64_t bytes = 0;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    bytes += events[i].bytes;
    const auto due =
        bytes == total
            ? extra
            : static_cast<std::int64_t>(static_cast<double>(extra) *
                                        (static_cast<double>(bytes) / static_cast<double>(total)));
    const std::int64_t tokens = 1 + due - given;
    given = due;
    if (i > 0) gap((events[i].at - events[i - 1].at).count() / tokens, tokens);
  }
}

}  // namespace banyan::loadtest
