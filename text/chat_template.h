// Writes a conversation in the form that a model was trained on.
//
// Implementations are immutable and thread-safe. What they copy out of a message is a piece of
// Origin::kMessage, roles included, whatever stands around it: a role or a content that spells a
// control token stays plain characters.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/codec.h"

namespace banyan::text {

class ChatTemplate {
 public:
  // By the exact text of `tokenizer.chat_template`. kUnimplemented quotes the beginning of a text
  // that is not known.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> ForText(std::string_view text);

  // ChatML as it is, without a default system message:
  // https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md
  static std::unique_ptr<const ChatTemplate> PlainChatMl();

  virtual ~ChatTemplate() = default;

  // The control tokens that its text relies on, as they are spelled.
  virtual std::span<const std::string_view> control_tokens() const = 0;

  // Neighbouring pieces differ in origin.
  virtual absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const = 0;
};

}  // namespace banyan::text
