// Datasets of chats with their texts: ShareGPT, WildChat, LMSYS-Chat-1M. The questions are asked;
// the answers there only say how long to answer.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "loadtest/workload/formats.h"
#include "loadtest/workload/json.h"

namespace banyan::loadtest {
namespace {

namespace json = boost::json;

constexpr std::int64_t kBytesPerToken = 4;  // of English text, about

// Turns out of messages in order.
class Chat {
 public:
  void Add(Role role, std::string text) {
    if (text.empty()) return;
    switch (role) {
      case Role::kSystem:
        messages_.push_back({.role = role, .text = std::move(text), .segments = {}});
        break;
      case Role::kUser:
        // Two questions without an answer between them are one: many templates demand that roles
        // alternate.
        if (!question_.empty()) question_ += "\n\n";
        question_ += text;
        break;
      case Role::kAssistant:
        EndTurn(std::max<std::int64_t>(1, static_cast<std::int64_t>(text.size()) / kBytesPerToken));
        break;
    }
  }

  // A last question that nobody answered is asked too.
  std::vector<Turn> Finish() {
    EndTurn(0);
    return std::move(turns_);
  }

 private:
  // An answer to no question is passed over: cut conversations begin with one.
  void EndTurn(std::int64_t output_tokens) {
    if (question_.empty()) return;
    messages_.push_back({.role = Role::kUser, .text = std::move(question_), .segments = {}});
    question_.clear();
    Turn turn;
    turn.number = static_cast<std::int32_t>(turns_.size() + 1);
    turn.messages = std::exchange(messages_, {});
    turn.output_tokens = output_tokens;
    turns_.push_back(std::move(turn));
  }

  std::vector<Turn> turns_;
  std::vector<Message> messages_;  // of the next turn, before its question
  std::string question_;
};

std::optional<Role> ParseRole(std::string_view name) {
  if (name == "human" || name == "user") return Role::kUser;
  if (name == "gpt" || name == "chatgpt" || name == "bing" || name == "bard" ||
      name == "assistant") {
    return Role::kAssistant;
  }
  if (name == "system") return Role::kSystem;
  return std::nullopt;
}

// What the formats call things.
struct Names {
  std::string_view messages, role, text;
};

class ChatReader final : public FormatReader {
 public:
  explicit ChatReader(Names names) : names_(names) {}

  absl::Status Read(const Entry& entry, Collection& into) override {
    const absl::StatusOr<const json::object*> object = json_.Read(entry.text);
    if (!object.ok()) return object.status();
    const json::value* const value = FindMember(**object, names_.messages);
    const json::array* const messages = value == nullptr ? nullptr : value->if_array();
    if (messages == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(names_.messages), " is missing or not an array"));
    }
    Chat chat;
    for (const json::value& message : *messages) {
      if (absl::Status status = AddMessage(message, chat); !status.ok()) return status;
    }
    Conversation conversation{.id = Id(**object, entry.line), .turns = chat.Finish()};
    if (conversation.turns.empty()) return absl::OkStatus();
    return into.Add(std::move(conversation));
  }

 private:
  absl::Status AddMessage(const json::value& value, Chat& chat) const {
    const json::object* const message = value.if_object();
    if (message == nullptr) return absl::InvalidArgumentError("a message is not an object");
    const auto name = FindText(*message, names_.role);
    if (!name.ok()) return name.status();
    const std::optional<Role> role = ParseRole(name->value_or(""));
    if (!role.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(names_.role), " is ",
                                                     Quote(name->value_or("")),
                                                     ", neither asking nor answering"));
    }
    auto text = FindText(*message, names_.text);
    if (!text.ok()) return text.status();
    chat.Add(*role, std::move(*text).value_or(""));
    return absl::OkStatus();
  }

  static std::string Id(const json::object& object, std::int64_t line) {
    for (const std::string_view name : {"id", "conversation_id", "conversation_hash"}) {
      auto id = FindText(object, name);
      if (id.ok() && !id->value_or("").empty()) return **std::move(id);
    }
    return absl::StrCat(line);
  }

  const Names names_;
  JsonReader json_;
};

}  // namespace

std::unique_ptr<FormatReader> MakeShareGptReader() {
  return std::make_unique<ChatReader>(
      Names{.messages = "conversations", .role = "from", .text = "value"});
}

std::unique_ptr<FormatReader> MakeWildChatReader() {
  return std::make_unique<ChatReader>(
      Names{.messages = "conversation", .role = "role", .text = "content"});
}

}  // namespace banyan::loadtest
