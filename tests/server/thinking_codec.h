// The codec of bytes, for a model that marks its reasoning.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/codec.h"

namespace banyan::server::openai {

class ThinkingCodec final : public text::Codec {
 public:
  // `prompt_end` is what the template writes after the conversation.
  explicit ThinkingCodec(std::string prompt_end) : prompt_end_(std::move(prompt_end)) {}

  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text, text::ControlTokens control,
                                              text::AddedTokens added) const override {
    return bytes_->Encode(text, control, added);
  }
  absl::StatusOr<std::vector<TokenId>> Encode(std::span<const text::Piece> pieces,
                                              text::AddedTokens added) const override {
    return bytes_->Encode(pieces, added);
  }
  std::string Decode(std::span<const TokenId> tokens) const override {
    return bytes_->Decode(tokens);
  }
  absl::StatusOr<std::vector<text::Piece>> Render(
      const text::Conversation& conversation) const override {
    auto pieces = bytes_->Render(conversation);
    if (pieces.ok()) pieces->push_back({prompt_end_, text::Origin::kTemplate});
    return pieces;
  }
  const text::ReasoningMarks* reasoning() const override { return &marks_; }
  std::string_view TokenBytes(TokenId token) const override { return bytes_->TokenBytes(token); }
  std::string_view TokenPiece(TokenId token) const override { return bytes_->TokenPiece(token); }
  std::int32_t vocabulary_size() const override { return bytes_->vocabulary_size(); }
  std::size_t longest_token_bytes() const override { return bytes_->longest_token_bytes(); }
  std::span<const TokenId> end_tokens() const override { return bytes_->end_tokens(); }
  std::string tokenizer_name() const override { return bytes_->tokenizer_name(); }
  std::string template_name() const override { return bytes_->template_name(); }

 private:
  const std::unique_ptr<const text::Codec> bytes_ = text::Codec::ForBytes();
  const text::ReasoningMarks marks_{"<think>", "</think>"};
  const std::string prompt_end_;
};

}  // namespace banyan::server::openai
