// A text cut into the windows that a model reads, each for itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/codec.h"

namespace banyan::server {

using Window = std::vector<TokenId>;

// What the model wants before a text: one token, or none.
absl::StatusOr<Window> BeginOfText(const text::Codec& codec);

// Windows of `context` tokens (>= 2), which do not overlap; each begins with `begin`, of fewer than
// `context`, and the last one may be shorter. All its tokens but the first are predicted.
// kInvalidArgument when the text is too short for any to be.
absl::StatusOr<std::vector<Window>> CutWindows(std::span<const TokenId> text,
                                               std::span<const TokenId> begin,
                                               std::int64_t context);

}  // namespace banyan::server
