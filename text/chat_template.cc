#include "text/chat_template.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"

namespace banyan::text {
namespace {

constexpr std::array<std::string_view, 2> kChatMlTokens = {"<|im_start|>", "<|im_end|>"};

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
  explicit ChatMl(std::string_view default_system) : default_system_(default_system) {}

  std::span<const std::string_view> control_tokens() const override { return kChatMlTokens; }

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

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::ForText(std::string_view text) {
  for (const Row& row : kRows) {
    if (row.text == text) return std::make_unique<const ChatMl>(row.default_system);
  }
  return absl::UnimplementedError(
      absl::StrCat("tokenizer.chat_template: this template is not known: ", Quote(text)));
}

std::unique_ptr<const ChatTemplate> ChatTemplate::PlainChatMl() {
  return std::make_unique<const ChatMl>("");
}

}  // namespace banyan::text
