// Traces whose prompts are named block by block: Mooncake's and Alibaba Bailian's.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "loadtest/workload/formats.h"
#include "loadtest/workload/json.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kUnnamed = 0x6e6f6e616d65;  // above keys of prompts without ids
constexpr std::uint64_t kChain = 0x636861696e;      // above keys of a prompt's first block

// The ids, in order. An id is only a name: any whole number of 64 bits will do.
absl::StatusOr<std::vector<std::uint64_t>> ReadIds(const json::value& value) {
  const json::array* const array = value.if_array();
  if (array == nullptr) return absl::InvalidArgumentError("hash_ids is not an array");
  std::vector<std::uint64_t> ids;
  ids.reserve(array->size());
  for (const json::value& id : *array) {
    if (id.is_int64()) {
      ids.push_back(static_cast<std::uint64_t>(id.get_int64()));
    } else if (id.is_uint64()) {
      ids.push_back(id.get_uint64());
    } else {
      return absl::InvalidArgumentError("hash_ids holds what is not a whole number");
    }
  }
  return ids;
}

// A segment for each block: all are full but the last.
absl::StatusOr<std::vector<Segment>> Blocks(const json::value& value, std::int64_t tokens,
                                            std::int32_t block_tokens) {
  const absl::StatusOr<std::vector<std::uint64_t>> ids = ReadIds(value);
  if (!ids.ok()) return ids.status();
  const std::int64_t blocks = (tokens + block_tokens - 1) / block_tokens;
  if (static_cast<std::int64_t>(ids->size()) != blocks) {
    return absl::InvalidArgumentError(absl::StrCat("hash_ids names ", ids->size(), " blocks, but ",
                                                   tokens, " tokens are ", blocks, " blocks of ",
                                                   block_tokens));
  }
  std::vector<Segment> segments;
  segments.reserve(ids->size());
  std::int64_t left = tokens;
  for (const std::uint64_t id : *ids) {
    segments.push_back(
        {.key = id,
         .tokens = static_cast<std::int32_t>(std::min<std::int64_t>(left, block_tokens))});
    left -= block_tokens;
  }
  return segments;
}

Message UserMessage(std::vector<Segment> segments) {
  return {.role = Role::kUser, .text = {}, .segments = std::move(segments)};
}

// What both formats say of a request besides its prompt. An answer of no token is asked for as one,
// the fewest that a server gives.
absl::StatusOr<Turn> ReadAnswer(const json::object& object) {
  const auto output = FindInteger(object, "output_length", 0, kMaxTokens);
  if (!output.ok()) return output.status();
  Turn turn;
  if (output->has_value()) turn.output_tokens = std::max<std::int64_t>(1, **output);
  return turn;
}

class MooncakeReader final : public FormatReader {
 public:
  std::int32_t block_tokens() const override { return 512; }

  absl::Status Read(const Entry& entry, Collection& into) override {
    const absl::StatusOr<const json::object*> object = json_.Read(entry.text);
    if (!object.ok()) return object.status();
    const auto session = FindText(**object, "session_id");
    if (!session.ok()) return session.status();
    absl::StatusOr<Turn> turn = ReadTurn(**object, entry.line);
    if (!turn.ok()) return turn.status();
    if (!session->value_or("").empty()) return into.AddTurn(**session, *std::move(turn));
    Conversation conversation{.id = absl::StrCat(entry.line), .turns = {}};
    conversation.turns.push_back(*std::move(turn));
    return into.Add(std::move(conversation));
  }

 private:
  absl::StatusOr<Turn> ReadTurn(const json::object& object, std::int64_t line) {
    absl::StatusOr<Turn> turn = ReadAnswer(object);
    if (!turn.ok()) return turn;
    constexpr Tick kMillisecond = std::chrono::milliseconds(1);
    const auto at = FindTime(object, "timestamp", kMillisecond);
    if (!at.ok()) return at.status();
    const auto delay = FindTime(object, "delay", kMillisecond);
    if (!delay.ok()) return delay.status();
    turn->at = *at;
    turn->think = delay->value_or(Tick(0));
    absl::StatusOr<Message> message = ReadPrompt(object, line);
    if (!message.ok()) return message.status();
    turn->messages.push_back(*std::move(message));
    return turn;
  }

  absl::StatusOr<Message> ReadPrompt(const json::object& object, std::int64_t line) {
    auto text = FindText(object, "text_input");
    if (!text.ok()) return text.status();
    if (text->has_value()) {
      if ((*text)->empty()) return absl::InvalidArgumentError("text_input is empty");
      return Message{.role = Role::kUser, .text = **std::move(text), .segments = {}};
    }
    const auto tokens = Integer(object, "input_length", 1, kMaxTokens);
    if (!tokens.ok()) return tokens.status();
    const json::value* const ids = FindMember(object, "hash_ids");
    if (ids == nullptr) {
      return UserMessage({{.key = HashKey(kUnnamed, static_cast<std::uint64_t>(line)),
                           .tokens = static_cast<std::int32_t>(*tokens)}});
    }
    absl::StatusOr<std::vector<Segment>> blocks = Blocks(*ids, *tokens, block_tokens());
    if (!blocks.ok()) return blocks.status();
    return UserMessage(*std::move(blocks));
  }

  JsonReader json_;
};

class BailianReader final : public FormatReader {
 public:
  std::int32_t block_tokens() const override { return 16; }

  absl::Status Read(const Entry& entry, Collection& into) override {
    const absl::StatusOr<const json::object*> object = json_.Read(entry.text);
    if (!object.ok()) return object.status();
    constexpr std::int64_t kMaxId = std::numeric_limits<std::int64_t>::max();
    const auto chat = Integer(**object, "chat_id", 0, kMaxId);
    if (!chat.ok()) return chat.status();
    const auto parent = FindInteger(**object, "parent_chat_id", -1, kMaxId);
    if (!parent.ok()) return parent.status();
    absl::StatusOr<Turn> turn = ReadTurn(**object);
    if (!turn.ok()) return turn.status();
    Conversation conversation{.id = absl::StrCat(*chat), .turns = {}};
    conversation.turns.push_back(*std::move(turn));
    return into.Add(std::move(conversation));
  }

 private:
  absl::StatusOr<Turn> ReadTurn(const json::object& object) {
    absl::StatusOr<Turn> turn = ReadAnswer(object);
    if (!turn.ok()) return turn;
    if (turn->output_tokens == 0) return absl::InvalidArgumentError("output_length is missing");
    const auto at = FindTime(object, "timestamp", std::chrono::seconds(1));
    if (!at.ok()) return at.status();
    if (!at->has_value()) return absl::InvalidArgumentError("timestamp is missing");
    const auto number = FindInteger(object, "turn", 1, kMaxTokens);
    if (!number.ok()) return number.status();
    const auto tokens = Integer(object, "input_length", 1, kMaxTokens);
    if (!tokens.ok()) return tokens.status();
    const json::value* const ids = FindMember(object, "hash_ids");
    if (ids == nullptr) return absl::InvalidArgumentError("hash_ids is missing");
    absl::StatusOr<std::vector<Segment>> blocks = Blocks(*ids, *tokens, block_tokens());
    if (!blocks.ok()) return blocks.status();
    // An id names a block's own tokens wherever they stand; a key names them and all before them.
    std::uint64_t chain = kChain;
    for (Segment& block : *blocks) block.key = chain = HashKey(chain, block.key);
    turn->at = *at;
    turn->number = static_cast<std::int32_t>(number->value_or(1));
    turn->messages.push_back(UserMessage(*std::move(blocks)));
    return turn;
  }

  JsonReader json_;
};

}  // namespace

std::unique_ptr<FormatReader> MakeMooncakeReader() { return std::make_unique<MooncakeReader>(); }
std::unique_ptr<FormatReader> MakeBailianReader() { return std::make_unique<BailianReader>(); }

}  // namespace banyan::loadtest
