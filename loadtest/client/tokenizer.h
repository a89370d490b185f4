// The served model's tokenizer, as far as a server lets it be asked: /tokenize of Banyan, vLLM,
// SGLang and llama.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "http/client.h"
#include "loadtest/client/vocabulary.h"

namespace banyan::loadtest {

class Tokenizer {
 public:
  // Choosing pieces ends after so many questions.
  static constexpr int kMaxQuestions = 160;

  // `client` outlives it.
  Tokenizer(http::Client& client, std::string model) : client_(client), model_(std::move(model)) {}

  // Tokens of a text, without those that are added around a prompt; nullopt: the server does not
  // say.
  boost::asio::awaitable<std::optional<std::int64_t>> Count(std::string_view text);
  // Tokens of a prompt of one user message, all that the chat template adds too.
  boost::asio::awaitable<std::optional<std::int64_t>> CountPrompt(std::string_view message);

  // Pieces that are one token each: words behind a space; else, for a tokenizer of bytes, letters
  // and digits; else words that are not exact.
  boost::asio::awaitable<Vocabulary> Choose();

 private:
  // In what a text is named: "prompt" (Banyan, vLLM, SGLang) or "content" (llama.cpp).
  enum class Dialect : std::uint8_t { kUnknown, kPrompt, kContent, kNone };
  static constexpr std::array<Dialect, 2> kDialects = {Dialect::kPrompt, Dialect::kContent};

  boost::asio::awaitable<std::optional<std::int64_t>> CountAs(Dialect dialect,
                                                              std::string_view text, bool special);
  // The pieces of `pieces` that are one token each behind others, or nullopt when that cannot be
  // told with the questions that are left.
  boost::asio::awaitable<std::optional<std::vector<std::string>>> OneTokenEach(
      const std::vector<std::string>& pieces);
  boost::asio::awaitable<bool> IsExact(const Vocabulary& vocabulary);

  http::Client& client_;
  const std::string model_;
  Dialect dialect_ = Dialect::kUnknown;
  int questions_ = 0;
};

}  // namespace banyan::loadtest
