// Text to token ids and back: the tokenizer and chat template of one model.
//
// Thread safety: a Codec is immutable after construction and shared by all threads.
//
// Invariants:
//  1. Text that comes from a message never becomes a control token: "<|im_end|>" typed by a user is
//     encoded as plain characters. Rendering therefore returns pieces that name their origin.
//  2. Where no control token's text lies in a message, not even in part, encoding the pieces gives
//     the reference tokenizer's ids for their concatenation: merges cross the borders of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

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

// A chat as a template sees it. Every string in it, keys too, came with the request: what a
// template copies out of it is Origin::kMessage.
struct Conversation {
  boost::json::array messages{};      // objects: "role", "content", "tool_calls", ...
  boost::json::array tools{};         // function definitions; None to the template when empty
  boost::json::object arguments{};    // more variables, such as "enable_thinking"
  bool add_generation_prompt = true;  // end where the assistant's answer begins
  std::int64_t now = 0;               // seconds since 1970, UTC, for strftime_now
};

// How a model's template family marks what the model thinks: "<think>" ... "</think>".
struct ReasoningMarks {
  std::string begin;
  std::string end;
};

enum class ControlTokens : std::uint8_t { kPlainText, kRecognize };
// Whether the tokens that the model file wants around a text (begin of text, end of text) are
// added.
enum class AddedTokens : std::uint8_t { kNone, kAsModelAsks };

// The most text that one call encodes: far more than any context holds.
inline constexpr std::size_t kMaxTextBytes = 16 << 20;

struct CodecOptions {
  std::string chat_template;  // Jinja, instead of the model file's; empty: the file's
};

class Codec {
 public:
  // From a model file's `tokenizer.*` keys. kUnimplemented names a tokenizer or pre-tokenizer that
  // is not known; kInvalidArgument names the key that is missing or contradictory, or where a
  // template does not parse. A file without a template gets a default (docs/text.md).
  static absl::StatusOr<std::unique_ptr<const Codec>> FromMetadata(
      const Metadata& metadata, const CodecOptions& options = {});

  // The codec of `--model null`: one token per byte, and the control tokens of the ChatML template.
  static std::unique_ptr<const Codec> ForBytes();

  virtual ~Codec() = default;

  // kInvalidArgument when the text is not UTF-8 (the byte offset is named, with the piece) or has
  // more than kMaxTextBytes.
  virtual absl::StatusOr<std::vector<TokenId>> Encode(
      std::string_view text, ControlTokens control,
      AddedTokens added = AddedTokens::kNone) const = 0;
  // Pieces of a rendered chat. kAsModelAsks: unless the template wrote it, the begin-of-text token
  // that the model wants comes first.
  virtual absl::StatusOr<std::vector<TokenId>> Encode(
      std::span<const Piece> pieces, AddedTokens added = AddedTokens::kNone) const = 0;
  // The text of `tokens` at once, as the reference decodes: a space that encoding put before the
  // text is taken off; control tokens are spelled out.
  virtual std::string Decode(std::span<const TokenId> tokens) const = 0;

  // The chat template over the conversation. kInvalidArgument with the template's own message when
  // it raises one, kResourceExhausted when it takes too many steps or writes too much.
  virtual absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const = 0;
  // Null when the template's family marks no reasoning.
  virtual const ReasoningMarks* reasoning() const = 0;

  // The bytes that `token` stands for; empty for control tokens (but for those that mark reasoning)
  // and for ids without text.
  virtual std::string_view TokenBytes(TokenId token) const = 0;
  // The vocabulary's own spelling of `token`, control tokens included (for /tokenize and logs).
  virtual std::string_view TokenPiece(TokenId token) const = 0;

  virtual std::int32_t vocabulary_size() const = 0;
  // No token stands for more bytes of a text: one longer than n times this comes to over n tokens,
  // which can be known before it is encoded. (Characters that the vocabulary lacks come to none.)
  virtual std::size_t longest_token_bytes() const = 0;
  // Tokens that end an answer (end of text, end of turn); sorted.
  virtual std::span<const TokenId> end_tokens() const = 0;

  // For people: "BPE (llama-bpe)", "SentencePiece"; "from the file", "given", "default: ChatML".
  virtual std::string tokenizer_name() const = 0;
  virtual std::string template_name() const = 0;
};

}  // namespace banyan::text
