#include "server/plan/shape_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/quote.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

// Whole numbers, one after another; after the first error 0, and the error is kept.
class Numbers {
 public:
  std::int64_t Read(const std::string& text) {
    const absl::StatusOr<std::int64_t> number = ParseInteger(text);
    status_.Update(number.status());
    return number.value_or(0);
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

absl::Status WrongForm(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      Quote(text),
      " is not LAYERS,KV_HEADS,HEAD_DIM[,WINDOW...] or LAYERS,LATENT+ROPE[,WINDOW...]"));
}

// Repeated until each layer has one.
absl::StatusOr<std::vector<std::int64_t>> Repeated(const std::vector<std::int64_t>& pattern,
                                                   std::int64_t layers) {
  if (std::ssize(pattern) > layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", pattern.size(), " windows for ", layers, " layers"));
  }
  std::vector<std::int64_t> windows;
  if (pattern.empty()) return windows;
  for (std::size_t i = 0; std::ssize(windows) < layers; ++i) {
    windows.push_back(pattern[i % pattern.size()]);
  }
  return windows;
}

}  // namespace

absl::StatusOr<CacheShape> ParseShape(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  if (parts.size() < 2) return WrongForm(text);
  CacheShape shape;
  Numbers numbers;
  shape.layers = numbers.Read(parts[0]);
  std::size_t read = 2;
  if (const std::size_t plus = parts[1].find('+'); plus != std::string::npos) {
    shape.kv_heads = 1;
    shape.latent = Latent{.rank = numbers.Read(parts[1].substr(0, plus)),
                          .rope = numbers.Read(parts[1].substr(plus + 1))};
  } else {
    if (parts.size() < 3) return WrongForm(text);
    shape.kv_heads = numbers.Read(parts[1]);
    shape.head_dim = numbers.Read(parts[2]);
    read = 3;
  }
  std::vector<std::int64_t> pattern;
  for (; read < parts.size(); ++read) pattern.push_back(numbers.Read(parts[read]));
  if (!numbers.status().ok()) return numbers.status();
  // Before layers are counted out, so that they are few.
  if (absl::Status status = CheckCacheShape(shape); !status.ok()) return status;
  absl::StatusOr<std::vector<std::int64_t>> windows = Repeated(pattern, shape.layers);
  if (!windows.ok()) return windows.status();
  shape.windows = *std::move(windows);
  if (absl::Status status = CheckCacheShape(shape); !status.ok()) return status;
  return shape;
}

}  // namespace banyan::server
