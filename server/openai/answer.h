// The text of one answer as its tokens come: detokenized, cut at a stop string.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/codec.h"
#include "text/stream.h"

namespace banyan::server::openai {

// Belongs to one request. `codec` outlives it.
class Answer {
 public:
  Answer(const text::Codec& codec, std::vector<std::string> stops)
      : detokenizer_(codec), stops_(std::move(stops)) {}

  // The text that became certain with `token`; may be empty. Once stopped() nothing is taken.
  std::string Push(TokenId token);
  // What is held back when the last token came; may still complete a stop string.
  std::string Finish();

  bool stopped() const { return stopped_; }
  // Tokens pushed; up to the one that completed the stop string.
  std::int64_t tokens() const { return tokens_; }

 private:
  std::string Match(std::string_view text);

  text::Detokenizer detokenizer_;
  text::StopMatcher stops_;
  std::int64_t tokens_ = 0;
  bool stopped_ = false;
};

}  // namespace banyan::server::openai
