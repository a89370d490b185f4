#include "tests/sim/trace.h"

#include <algorithm>
#include <cstring>

namespace banyan::sim {

std::string Format(const char* words, const std::array<std::int64_t, 4>& numbers) {
  std::string text;
  std::size_t next = 0;
  for (const char* at = words; *at != '\0'; ++at) {
    if (std::strncmp(at, "%d", 2) == 0 && next < numbers.size()) {
      text += std::to_string(numbers[next++]);
      ++at;
    } else {
      text += *at;
    }
  }
  return text;
}

std::string Trace::Tail(RequestId request, std::size_t lines) const {
  std::vector<std::string> tail;
  const std::size_t kept = std::min(added_, kKept);
  for (std::size_t back = 1; back <= kept && tail.size() < lines; ++back) {
    const Event& event = events_[(added_ - back) % kKept];
    if (request != kNobody && event.request != kNobody && event.request != request) continue;
    std::string line = "  tick " + std::to_string(event.tick) + ": ";
    if (event.request != kNobody) {
      line += "request " + std::to_string(static_cast<std::uint64_t>(event.request)) + " ";
    }
    tail.push_back(line + Format(event.words, event.numbers) + "\n");
  }
  std::string text;
  for (auto line = tail.rbegin(); line != tail.rend(); ++line) text += *line;
  return text;
}

}  // namespace banyan::sim
