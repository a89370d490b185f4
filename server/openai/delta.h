// What a client is told next of one choice.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"

namespace banyan::server::openai {

// A token with its log-probability.
struct Entry {
  TokenId token = -1;
  std::optional<float> log_probability;  // none: the first token of a prompt
  std::vector<TokenLogprob> top{};
  std::int64_t offset = 0;  // characters of the choice's text before the token's
};

struct Delta {
  std::string text;
  std::string reasoning;
  std::vector<Entry> entries;

  bool empty() const { return text.empty() && reasoning.empty() && entries.empty(); }
  void Append(Delta more) {
    text += more.text;
    reasoning += more.reasoning;
    std::move(more.entries.begin(), more.entries.end(), std::back_inserter(entries));
  }
};

}  // namespace banyan::server::openai
