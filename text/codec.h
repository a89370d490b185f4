// Text to token ids and back: tokenizer, chat template, streaming detokenizer, stop strings.
//
// Thread safety: a Codec is immutable after construction and shared by all threads; Detokenizer and
// StopMatcher belong to one request.
//
// Invariants:
//  1. Text that comes from a message never becomes a control token: "<|im_end|>" typed by a user is
//     encoded as plain characters. Rendering therefore returns pieces that name their origin.
//  2. Where no control token's text lies in a message, not even in part, encoding the pieces gives
//     the reference tokenizer's ids for their concatenation: merges cross the borders of pieces.
//  3. What Detokenizer returns is always whole UTF-8, and its outputs joined are the text of all
//     tokens at once, for any split of bytes over tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/metadata.h"

namespace banyan::text {

enum class Origin : std::uint8_t {
  kTemplate,  // written by the template: control tokens are recognized
  kMessage,   // came with the request: plain characters only
};

struct Piece {
  std::string text;
  Origin origin = Origin::kMessage;
};

struct Message {
  std::string role;     // "system", "user", "assistant"
  std::string content;  // UTF-8
};

enum class ControlTokens : std::uint8_t { kPlainText, kRecognize };

// The most text that one call encodes: far more than any context holds.
inline constexpr std::size_t kMaxTextBytes = 16 << 20;

class Codec {
 public:
  // From a model file's `tokenizer.*` keys. kUnimplemented names a tokenizer, pre-tokenizer or chat
  // template that is not known; kInvalidArgument names the key that is missing or contradictory.
  static absl::StatusOr<std::unique_ptr<const Codec>> FromMetadata(const Metadata& metadata);

  // The codec of `--model null`: one token per byte, and the control tokens of the ChatML template.
  static std::unique_ptr<const Codec> ForBytes();

  virtual ~Codec() = default;

  // kInvalidArgument when the text is not UTF-8 (the byte offset is named, with the piece) or has
  // more than kMaxTextBytes.
  virtual absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text,
                                                      ControlTokens control) const = 0;
  virtual absl::StatusOr<std::vector<TokenId>> Encode(std::span<const Piece> pieces) const = 0;

  // The chat template over `messages`, ending where the assistant's answer begins.
  // kInvalidArgument when the template does not allow them (a role it does not know).
  virtual absl::StatusOr<std::vector<Piece>> Render(std::span<const Message> messages) const = 0;

  // The bytes that `token` stands for; empty for control tokens and for ids without text.
  virtual std::string_view TokenBytes(TokenId token) const = 0;
  // The vocabulary's own spelling of `token`, control tokens included (for /tokenize and logs).
  virtual std::string_view TokenPiece(TokenId token) const = 0;

  virtual std::int32_t vocabulary_size() const = 0;
  // No token stands for more bytes of a text: one longer than n times this comes to over n tokens,
  // which can be known before it is encoded. (Characters that the vocabulary lacks come to none.)
  virtual std::size_t longest_token_bytes() const = 0;
  // Tokens that end an answer (end of text, end of turn); sorted.
  virtual std::span<const TokenId> end_tokens() const = 0;
};

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

}  // namespace banyan::text
