// The one kind of codec there is so far: a byte-level vocabulary, with or without merges.
// Immutable, thread-safe. The interface's comments are in text/codec.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/chat_template.h"
#include "text/codec.h"
#include "text/control_tokens.h"
#include "text/pre_tokenizer.h"
#include "text/vocabulary.h"

namespace banyan::text {

class ByteLevelCodec final : public Codec {
 public:
  struct Parts {
    std::unique_ptr<const Vocabulary> vocabulary;
    std::span<const std::string_view> merges;   // read by Create only
    std::optional<PreTokenizer> pre_tokenizer;  // none: the whole text is one run
    std::unique_ptr<const ChatTemplate> chat_template;
    std::vector<TokenId> end_tokens;  // those of well-known names are added
  };

  static absl::StatusOr<std::unique_ptr<const Codec>> Create(Parts parts);

  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text, ControlTokens control,
                                              AddedTokens added) const override;
  absl::StatusOr<std::vector<TokenId>> Encode(std::span<const Piece> pieces,
                                              AddedTokens added) const override;
  std::string Decode(std::span<const TokenId> tokens) const override;
  absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const override {
    return chat_template_->Render(conversation);
  }
  const ReasoningMarks* reasoning() const override { return chat_template_->reasoning(); }
  std::string_view TokenBytes(TokenId token) const override { return vocabulary_->Bytes(token); }
  std::string_view TokenPiece(TokenId token) const override { return vocabulary_->Spelling(token); }
  std::int32_t vocabulary_size() const override { return vocabulary_->size(); }
  std::size_t longest_token_bytes() const override { return vocabulary_->longest_bytes(); }
  std::span<const TokenId> end_tokens() const override { return end_tokens_; }
  std::string tokenizer_name() const override { return "BPE"; }
  std::string template_name() const override { return std::string(chat_template_->name()); }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  ByteLevelCodec(Parts parts, Bpe bpe, ControlTokenFinder control_tokens);

  // Control tokens are recognized within each of `from_template`, which ascend; `text` is UTF-8.
  absl::StatusOr<std::vector<TokenId>> EncodeRanges(std::string_view text,
                                                    std::span<const Range> from_template) const;
  absl::Status EncodePlain(std::string_view text, std::vector<TokenId>& ids,
                           BpeScratch& scratch) const;

  std::unique_ptr<const Vocabulary> vocabulary_;  // never moves: bpe_ points into it
  Bpe bpe_;
  ControlTokenFinder control_tokens_;
  std::optional<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<const ChatTemplate> chat_template_;
  std::vector<TokenId> end_tokens_;  // sorted
};

}  // namespace banyan::text
