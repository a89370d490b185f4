// The text of one answer as its tokens come: detokenized, cut at a stop string, its reasoning split
// off, each token's log-probability beside its text.
//
// Invariant: an entry leaves with the first byte of its token's text, or with the next text when it
// has none; none is lost, and none leaves of a token whose text a stop string cut off whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "server/openai/delta.h"
#include "text/codec.h"
#include "text/stream.h"

namespace banyan::server::openai {

// Belongs to one request. `codec` outlives it.
class Answer {
 public:
  struct Options {
    std::vector<std::string> stops{};
    std::int64_t min_tokens = 0;  // the text of the first ones is not searched for stop strings
    bool entries = false;         // they are wanted
    std::int64_t offset = 0;      // characters of the choice's text before the answer's
    // Where the answer begins, of models that mark their reasoning and when that is to be split
    // off.
    std::optional<text::ReasoningSplitter::Start> reasoning{};
  };
  Answer(const text::Codec& codec, Options options);

  // What became certain with `token`; may be empty. Once stopped() nothing is taken.
  Delta Push(ScoredToken token);
  // What is held back when the last token came; may still complete a stop string.
  Delta Finish();

  bool stopped() const { return stopped_; }
  // Tokens pushed; up to the one that completed the stop string.
  std::int64_t tokens() const { return tokens_; }
  // Those that came before the answer's own text, where reasoning did.
  std::int64_t reasoning_tokens() const { return reasoned_ ? tokens_before_text_ : 0; }

 private:
  struct Waiting {
    Entry entry;
    std::size_t start = 0;  // bytes of the detokenized text before the token's
  };

  // Takes detokenized text; returns what of it is certain not to begin a stop string.
  std::string Search(std::string_view text);
  Delta Tell(std::string text);
  void Split(text::ReasoningSplitter::Output output, Delta& delta);

  const Options options_;
  text::Detokenizer detokenizer_;
  text::StopMatcher stops_;
  std::optional<text::ReasoningSplitter> splitter_;
  std::deque<Waiting> waiting_;  // in the order of their text
  std::size_t detokenized_ = 0;  // bytes
  std::size_t told_ = 0;         // bytes of those: a prefix, as long as nothing was cut off
  std::int64_t characters_ = 0;  // detokenized
  std::int64_t tokens_ = 0;
  std::int64_t tokens_before_text_ = 0;
  bool reasoned_ = false;
  bool answered_ = false;
  bool stopped_ = false;
};

}  // namespace banyan::server::openai
