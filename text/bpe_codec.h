// The one kind of codec there is: a vocabulary of bytes or characters whose tokens merge.
// Immutable, thread-safe. The interface's comments are in text/codec.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/chat_template.h"
#include "text/codec.h"
#include "text/control_tokens.h"
#include "text/run_source.h"
#include "text/vocabulary.h"

namespace banyan::text {

class BpeCodec final : public Codec {
 public:
  // Whether encoding puts a space before the text, which decoding takes off.
  enum class SpacePrefix : std::uint8_t { kNone, kAdded };

  struct Parts {
    std::string name;
    std::unique_ptr<const Vocabulary> vocabulary;  // guarded as it must be
    std::unique_ptr<const Bpe> bpe;                // over that vocabulary
    std::unique_ptr<const RunSource> runs;         // null: a stretch of plain text is one run
    std::unique_ptr<const ChatTemplate> chat_template;
    std::vector<TokenId> end_tokens;
    std::optional<TokenId> begin;  // added before a text where the model asks for it
    std::optional<TokenId> end;    // ... behind a text
    SpacePrefix space_prefix = SpacePrefix::kNone;
    std::size_t longest_token_bytes = 0;
  };

  static absl::StatusOr<std::unique_ptr<const Codec>> Create(Parts parts);

  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text, ControlTokens control,
                                              AddedTokens added) const override;
  absl::StatusOr<std::vector<TokenId>> Encode(std::span<const Piece> pieces,
                                              AddedTokens added) const override;
  std::string Decode(std::span<const TokenId> tokens) const override;
  absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const override {
    return parts_.chat_template->Render(conversation);
  }
  const ReasoningMarks* reasoning() const override { return parts_.chat_template->reasoning(); }
  std::string_view TokenBytes(TokenId token) const override {
    return parts_.vocabulary->Bytes(token);
  }
  std::string_view TokenPiece(TokenId token) const override {
    return parts_.vocabulary->Spelling(token);
  }
  std::int32_t vocabulary_size() const override { return parts_.vocabulary->size(); }
  std::size_t longest_token_bytes() const override { return parts_.longest_token_bytes; }
  std::span<const TokenId> end_tokens() const override { return parts_.end_tokens; }
  std::string tokenizer_name() const override { return parts_.name; }
  std::string template_name() const override { return std::string(parts_.chat_template->name()); }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  BpeCodec(Parts parts, ControlTokenFinder control_tokens);

  // Control tokens are recognized within each of `from_template`, which ascend; `text` is UTF-8.
  void EncodeRanges(std::string_view text, std::span<const Range> from_template,
                    std::vector<TokenId>& ids) const;
  // A stretch without control tokens: user-defined ones are cut out.
  void EncodeOpen(std::string_view text, std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void EncodePlain(std::string_view text, std::vector<TokenId>& ids, BpeScratch& scratch) const;

  Parts parts_;
  ControlTokenFinder control_tokens_;
};

}  // namespace banyan::text
