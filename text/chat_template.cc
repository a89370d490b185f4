#include "text/chat_template.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"

namespace banyan::text {
namespace {

// Appends to the last piece where the origin is the same.
class PieceWriter {
 public:
  void Template(std::string_view text) { Write(text, Origin::kTemplate); }
  void Message(std::string_view text) { Write(text, Origin::kMessage); }
  std::vector<Piece> Take() { return std::move(pieces_); }

 private:
  void Write(std::string_view text, Origin origin) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().origin != origin) pieces_.push_back({"", origin});
    pieces_.back().text.append(text);
  }

  std::vector<Piece> pieces_;
};

std::string_view Member(const boost::json::value& message, const char* name) {
  const boost::json::string* text = message.as_object().at(name).if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

class ChatMl final : public ChatTemplate {
 public:
  // `default_system` is what the model is told when the first message is of another role; nothing
  // when empty.
  ChatMl(std::string_view default_system, std::string_view name)
      : default_system_(default_system), name_(name) {}

  const ReasoningMarks* reasoning() const override { return nullptr; }
  std::string_view name() const override { return name_; }

  absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const override {
    const boost::json::array& messages = conversation.messages;
    PieceWriter out;
    if (!default_system_.empty() && !messages.empty() &&
        Member(messages.front(), "role") != "system") {
      out.Template("<|im_start|>system\n");
      out.Template(default_system_);
      out.Template("<|im_end|>\n");
    }
    for (const boost::json::value& message : messages) {
      out.Template("<|im_start|>");
      out.Message(Member(message, "role"));
      out.Template("\n");
      out.Message(Member(message, "content"));
      out.Template("<|im_end|>\n");
    }
    out.Template("<|im_start|>assistant\n");
    return out.Take();
  }

 private:
  std::string_view default_system_;  // a constant of this file
  std::string name_;
};

struct Row {
  std::string_view text;  // as it stands in the model file
  std::string_view default_system;
};

constexpr std::array<Row, 1> kRows = {{
    // SmolLM2 Instruct
    {"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
     "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
     "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
     "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
     "{{ '<|im_start|>assistant\n' }}{% endif %}",
     "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
}};

}  // namespace

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Parse(std::string_view text,
                                                                        const Specials&) {
  for (const Row& row : kRows) {
    if (row.text == text) {
      return std::make_unique<const ChatMl>(row.default_system, "from the file");
    }
  }
  return absl::UnimplementedError(absl::StrCat("this template is not known: ", Quote(text)));
}

std::unique_ptr<const ChatTemplate> ChatTemplate::Default(
    const std::function<bool(std::string_view)>&, const Specials&) {
  return std::make_unique<const ChatMl>("", "default: ChatML");
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Choose(
    std::string_view given, std::optional<std::string_view> from_file,
    const std::function<bool(std::string_view)>& has_control_token, const Specials& specials) {
  if (given.empty() && !from_file) return Default(has_control_token, specials);
  auto parsed = Parse(given.empty() ? *from_file : given, specials);
  if (!parsed.ok()) {
    return absl::Status(
        parsed.status().code(),
        absl::StrCat(given.empty() ? "tokenizer.chat_template" : "the given chat template", ": ",
                     parsed.status().message()));
  }
  return parsed;
}

}  // namespace banyan::text
