// What one JSON object of an answer says: an event of a stream, or a whole answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace banyan::loadtest {

enum class Api : std::uint8_t { kChat, kCompletions };

struct AnswerPart {
  std::string text;        // of the answer itself
  std::int64_t bytes = 0;  // of text, reasoning and tool calls together
  std::string finish_reason;
  std::int64_t prompt_tokens = -1;  // -1: not said, as below
  std::int64_t cached_tokens = -1;
  std::int64_t output_tokens = -1;
  std::optional<std::string> error;  // what went wrong, in the server's words, perhaps none
  bool known = false;                // it has choices, usage or an error
};

// Looks only for what an AnswerPart holds, without building values: a client that reads 100,000
// events a second has little time for each. One thread.
class AnswerParser {
 public:
  explicit AnswerParser(Api api);
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  // False when `json` is not one JSON text. `part` is overwritten.
  bool Parse(std::string_view json, AnswerPart& part);

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace banyan::loadtest
