// The prompt as a part of its choice's text, for "echo".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "server/openai/delta.h"
#include "text/codec.h"

namespace banyan::server::openai {

// Belongs to one request. `codec` outlives it.
class Echo {
 public:
  // `text` is what the client gave, or of tokens what they decode to.
  Echo(const text::Codec& codec, std::string text, std::vector<TokenId> prompt);

  std::int64_t characters() const;
  // `scores` are those of the prompt's tokens from the second on; nothing is said of tokens when
  // there are none, unless the prompt is a single one.
  Delta Tell(std::vector<ScoredToken> scores) const;
  // The text alone.
  Delta Tell() const { return {.text = text_, .reasoning = {}, .entries = {}}; }

 private:
  // For each token of the prompt, the characters of the text before it.
  std::vector<std::int64_t> Offsets() const;

  const text::Codec* codec_;
  std::string text_;
  std::vector<TokenId> prompt_;
};

}  // namespace banyan::server::openai
