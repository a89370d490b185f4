// How many pages a simulated pool has. Internal to this folder.
#pragma once

#include <cstdint>

namespace banyan::loadtest {

inline std::int64_t PagesFor(std::int64_t tokens, std::int32_t page_tokens) {
  return (tokens + page_tokens - 1) / page_tokens;
}

// Pages that are enough when nothing is ever given up: for every request's tokens, and a page that
// it copies from.
class UnlimitedPool {
 public:
  explicit UnlimitedPool(std::int32_t page_tokens) : page_tokens_(page_tokens) {}
  void Add(std::int64_t tokens) { pages_ += PagesFor(tokens, page_tokens_) + 1; }
  std::int32_t pages() const;  // at most kMaxPages

 private:
  const std::int32_t page_tokens_;
  std::int64_t pages_ = 1;
};

}  // namespace banyan::loadtest
