// Writes a conversation in the form that a model was trained on.
//
// Immutable and thread-safe. Every byte of what is rendered knows whether the template wrote it or
// it came with the request, roles and keys included, whatever the template did to it: a role or a
// content that spells a control token stays plain characters.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/codec.h"

namespace banyan::text {

// Spellings of tokens that a template may name, as variables of these names. Empty: undefined to
// it.
struct Specials {
  std::string bos_token{};
  std::string eos_token{};
  std::string unk_token{};
  std::string sep_token{};
  std::string pad_token{};
  std::string cls_token{};
  std::string mask_token{};
};

class ChatTemplate {
 public:
  // kInvalidArgument says on which line the text is not a template, or names what is not supported.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> Parse(std::string_view text,
                                                                   const Specials& specials);

  // For models without one: that of the first family of which `has_control_token` knows the control
  // tokens (docs/text.md), else a plain form.
  static std::unique_ptr<const ChatTemplate> Default(
      const std::function<bool(std::string_view)>& has_control_token, const Specials& specials);

  // `given` unless it is empty, else `from_file`, else the default: what a codec is made with.
  // Errors name where the template came from.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> Choose(
      std::string_view given, std::optional<std::string_view> from_file,
      const std::function<bool(std::string_view)>& has_control_token, const Specials& specials);

  virtual ~ChatTemplate() = default;

  // As Codec::Render. Neighbouring pieces differ in origin.
  virtual absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const = 0;

  // Null when the template's text shows no family's marks.
  virtual const ReasoningMarks* reasoning() const = 0;

  // For people: "from the file", "given", "default: ChatML".
  virtual std::string_view name() const = 0;
};

}  // namespace banyan::text
