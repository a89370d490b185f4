// The JSONL that aiperf reads: single requests, and conversations of turns.
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

// Appends a string, or the contents of {"name", "contents": [...]}.
absl::Status AppendText(const json::value& value, std::string& text) {
  if (const json::string* const string = value.if_string()) {
    if (!text.empty()) text += '\n';
    text.append(string->data(), string->size());
    return absl::OkStatus();
  }
  const json::object* const object = value.if_object();
  const json::value* const contents = object == nullptr ? nullptr : FindMember(*object, "contents");
  const json::array* const array = contents == nullptr ? nullptr : contents->if_array();
  if (array == nullptr) return absl::InvalidArgumentError("texts holds what is no text");
  for (const json::value& content : *array) {
    if (!content.is_string()) return absl::InvalidArgumentError("texts holds what is no text");
    if (absl::Status status = AppendText(content, text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const json::object& object) {
  for (const std::string_view media :
       {"image", "images", "audio", "audios", "video", "videos", "payload", "messages"}) {
    if (FindMember(object, media) == nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(media), " is there, and only text can be sent"));
  }
  auto text = FindText(object, "text");
  if (!text.ok()) return text.status();
  std::string all = std::move(*text).value_or("");
  if (const json::value* const texts = FindMember(object, "texts")) {
    if (!all.empty()) return absl::InvalidArgumentError("text and texts are both there");
    if (!texts->is_array()) return absl::InvalidArgumentError("texts is not an array");
    for (const json::value& part : texts->get_array()) {
      if (absl::Status status = AppendText(part, all); !status.ok()) return status;
    }
  }
  if (all.empty()) return absl::InvalidArgumentError("it has no text");
  return all;
}

absl::StatusOr<Role> ReadRole(const json::object& object) {
  const auto name = FindText(object, "role");
  if (!name.ok()) return name.status();
  const std::string role = name->value_or("user");
  if (role == "user") return Role::kUser;
  if (role == "system") return Role::kSystem;
  if (role == "assistant") return Role::kAssistant;
  return absl::InvalidArgumentError(absl::StrCat("the role is ", Quote(role)));
}

// All but messages and number.
absl::StatusOr<Turn> ReadTiming(const json::object& object) {
  constexpr Tick kMillisecond = std::chrono::milliseconds(1);
  const auto at = FindTime(object, "timestamp", kMillisecond);
  if (!at.ok()) return at.status();
  const auto delay = FindTime(object, "delay", kMillisecond);
  if (!delay.ok()) return delay.status();
  // A delay of 0 beside a timestamp says nothing.
  if (at->has_value() && delay->value_or(Tick(0)) > Tick(0)) {
    return absl::InvalidArgumentError("timestamp and delay are both there");
  }
  const auto output = FindInteger(object, "output_length", 1, kMaxTokens);
  if (!output.ok()) return output.status();
  Turn turn;
  turn.at = *at;
  turn.think = delay->value_or(Tick(0));
  turn.output_tokens = output->value_or(0);
  return turn;
}

// Adds an element of "turns": a turn where it asks, else a message before the next one's.
absl::Status AddTurn(const json::object& object, std::vector<Message>& before,
                     std::vector<Turn>& turns) {
  const absl::StatusOr<Role> role = ReadRole(object);
  if (!role.ok()) return role.status();
  absl::StatusOr<std::string> text = ReadText(object);
  if (!text.ok()) return text.status();
  before.push_back({.role = *role, .text = *std::move(text), .segments = {}});
  if (*role != Role::kUser) return absl::OkStatus();
  absl::StatusOr<Turn> turn = ReadTiming(object);
  if (!turn.ok()) return turn.status();
  turn->number = static_cast<std::int32_t>(turns.size() + 1);
  turn->messages = std::exchange(before, {});
  turns.push_back(*std::move(turn));
  return absl::OkStatus();
}

class AiperfReader final : public FormatReader {
 public:
  absl::Status Read(const Entry& entry, Collection& into) override {
    const absl::StatusOr<const json::object*> object = json_.Read(entry.text);
    if (!object.ok()) return object.status();
    const auto session = FindText(**object, "session_id");
    if (!session.ok()) return session.status();
    Conversation conversation{.id = session->value_or(""), .turns = {}};
    if (conversation.id.empty()) conversation.id = absl::StrCat(entry.line);
    std::vector<Message> before;
    if (const json::value* const turns = FindMember(**object, "turns")) {
      if (!turns->is_array()) return absl::InvalidArgumentError("turns is not an array");
      for (const json::value& turn : turns->get_array()) {
        if (!turn.is_object()) return absl::InvalidArgumentError("a turn is not an object");
        absl::Status status = AddTurn(turn.get_object(), before, conversation.turns);
        if (!status.ok()) return status;
      }
    } else if (absl::Status status = AddTurn(**object, before, conversation.turns); !status.ok()) {
      return status;
    }
    if (conversation.turns.empty()) return absl::InvalidArgumentError("it has no turn that asks");
    return into.Add(std::move(conversation));
  }

 private:
  JsonReader json_;
};

}  // namespace

std::unique_ptr<FormatReader> MakeAiperfReader() { return std::make_unique<AiperfReader>(); }

}  // namespace banyan::loadtest
