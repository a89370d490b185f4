#include "server/eval/windows.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "base/check.h"

namespace banyan::server {

absl::StatusOr<Window> BeginOfText(const text::Codec& codec) {
  using text::AddedTokens;
  using text::ControlTokens;
  const auto plain = codec.Encode("a", ControlTokens::kPlainText, AddedTokens::kNone);
  if (!plain.ok()) return plain.status();
  const auto whole = codec.Encode("a", ControlTokens::kPlainText, AddedTokens::kAsModelAsks);
  if (!whole.ok()) return whole.status();
  if (plain->empty() || whole->empty() || whole->front() == plain->front()) return Window();
  return Window{whole->front()};
}

absl::StatusOr<std::vector<Window>> CutWindows(std::span<const TokenId> text,
                                               std::span<const TokenId> begin,
                                               std::int64_t context) {
  CHECK(context >= 2 && begin.size() < static_cast<std::size_t>(context));
  const std::size_t most = static_cast<std::size_t>(context) - begin.size();
  std::vector<Window> windows;
  while (!text.empty()) {
    const auto piece = text.first(std::min(most, text.size()));
    text = text.subspan(piece.size());
    Window window(begin.begin(), begin.end());
    window.insert(window.end(), piece.begin(), piece.end());
    if (window.size() >= 2) windows.push_back(std::move(window));
  }
  if (windows.empty()) {
    return absl::InvalidArgumentError("it is too short: there is no token to predict");
  }
  return windows;
}

}  // namespace banyan::server
