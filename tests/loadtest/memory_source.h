// Bytes of a trace that lie in memory, handed out in pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "loadtest/workload/bytes.h"

namespace banyan::loadtest {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes, std::size_t piece = 1 << 20)
      : bytes_(bytes), piece_(piece) {}

  absl::StatusOr<std::size_t> Read(char* to, std::size_t size) override {
    const std::size_t got = std::min({size, piece_, bytes_.size()});
    if (got > 0) std::memcpy(to, bytes_.data(), got);
    bytes_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view bytes_;
  const std::size_t piece_;
};

}  // namespace banyan::loadtest
