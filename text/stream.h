// What is done to an answer's tokens as they come: whole UTF-8, cut at stop strings, reasoning
// split off. One of each per request, in this order.
//
// Invariant: what Detokenizer returns is always whole UTF-8, and its outputs joined are the text of
// all tokens at once, for any split of bytes over tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/codec.h"

namespace banyan::text {

// Turns a request's tokens into text as they come.
class Detokenizer {
 public:
  explicit Detokenizer(const Codec& codec) : codec_(&codec) {}

  // The text that became complete with `token`; may be empty. Bytes that can never become UTF-8
  // come out as U+FFFD, one per maximal invalid run as in the Unicode standard (3.9, table 3-8).
  std::string Push(TokenId token);
  // What is held back at the end; an unfinished character becomes U+FFFD.
  std::string Finish();

 private:
  const Codec* codec_;
  std::string held_;  // fewer than 4 bytes: the beginning of one character
};

// Finds stop strings in streamed text. No prefix of a stop string leaves before it is known not to
// be one.
class StopMatcher {
 public:
  // At most kMaxStopStrings, each of 1 to kMaxStopStringBytes bytes; the caller has checked.
  explicit StopMatcher(std::vector<std::string> stops);

  struct Output {
    std::string text;      // to be sent now
    bool stopped = false;  // a stop string was found: `text` ends before it, and nothing follows
  };
  // The stop string that ends first wins; of those ending together, the one that starts first.
  Output Push(std::string_view text);
  // What is held back at the end of the answer.
  std::string Finish();

 private:
  struct Stop {
    std::string text;
    std::vector<std::size_t> borders;  // see Borders() in stop_matcher.cc
    std::size_t matched = 0;           // bytes of `text` that the text so far ends in

    std::size_t Advance(char byte);  // returns `matched`
  };

  std::vector<Stop> stops_;
  std::string held_;  // the longest end of the text so far that begins a stop string
  bool stopped_ = false;
};

// Parts what the model thinks from what it answers, by the marks of its template family. White
// space next to a mark belongs to neither.
class ReasoningSplitter {
 public:
  enum class Start : std::uint8_t { kAnswer, kReasoning };  // kReasoning: the prompt opened it

  ReasoningSplitter(const ReasoningMarks& marks, Start start);

  // Where an answer to this prompt starts: in the reasoning when the prompt ends with the mark that
  // begins one, white space aside, and the template wrote that mark.
  static Start StartAfter(const ReasoningMarks& marks, std::span<const Piece> prompt);

  struct Output {
    std::string reasoning;
    std::string answer;
  };
  // What became certain with `text`; no part of a mark is ever in it.
  Output Push(std::string_view text);
  Output Finish();

 private:
  enum class State : std::uint8_t { kBegin, kReasoning, kAnswer };

  bool Advance(Output& out);
  bool AdvanceReasoning(Output& out);

  ReasoningMarks marks_;
  State state_;
  bool after_mark_ = false;  // white space is nobody's
  std::string held_;         // white space, and what may begin a mark
};

}  // namespace banyan::text
