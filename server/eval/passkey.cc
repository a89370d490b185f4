#include "server/eval/passkey.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/eval/windows.h"

namespace banyan::server {
namespace {

constexpr std::string_view kTask =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize it. "
    "I will quiz you about the important information there.";
constexpr std::string_view kFiller =
    " The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
constexpr std::string_view kQuestion = " What is the pass key? The pass key is";
constexpr std::int64_t kSpareAnswerTokens = 2;  // a space may be a token of its own

absl::StatusOr<std::vector<TokenId>> Encode(const text::Codec& codec, const std::string& text) {
  return codec.Encode(text, text::ControlTokens::kPlainText, text::AddedTokens::kNone);
}

// Numbers without a pattern: the finalizer of MurmurHash3.
std::uint64_t Mixed(std::uint64_t number) {
  number ^= number >> 33;
  number *= 0xff51afd7ed558ccdULL;
  number ^= number >> 33;
  number *= 0xc4ceb9fe1a85ec53ULL;
  return number ^ (number >> 33);
}

std::string KeyOf(std::uint64_t number) {
  return absl::StrCat(10'000 + Mixed(number + 1) % 90'000);
}

std::string TextWith(const std::string& key, std::int64_t fillers, int depth) {
  const std::int64_t before = fillers * depth / 100;
  std::string text(kTask);
  for (std::int64_t i = 0; i <= fillers; ++i) {
    if (i == before) {
      absl::StrAppend(&text, " The pass key is ", key, ". Remember it. ", key, " is the pass key.");
    }
    if (i < fillers) text += kFiller;
  }
  text += kQuestion;
  return text;
}

// With as much text as fits.
absl::StatusOr<PasskeyPrompt> MakePrompt(const text::Codec& codec, const Window& begin,
                                         std::int64_t length, int depth, std::string key) {
  const auto answer = Encode(codec, absl::StrCat(" ", key));
  const auto filler = Encode(codec, std::string(kFiller));
  const auto least = Encode(codec, TextWith(key, 0, 0));
  for (const auto* encoded : {&answer, &filler, &least}) {
    if (!encoded->ok()) return encoded->status();
  }
  PasskeyPrompt prompt{.length = length, .depth = depth, .key = std::move(key)};
  prompt.answer_tokens = static_cast<std::int64_t>(answer->size()) + kSpareAnswerTokens;
  const std::int64_t room = length - prompt.answer_tokens - static_cast<std::int64_t>(begin.size());
  const auto each = std::max<std::int64_t>(1, static_cast<std::int64_t>(filler->size()));
  std::int64_t fillers = (room - static_cast<std::int64_t>(least->size())) / each;
  for (; fillers >= 0; --fillers) {
    const auto text = Encode(codec, TextWith(prompt.key, fillers, depth));
    if (!text.ok()) return text.status();
    if (static_cast<std::int64_t>(text->size()) > room) continue;
    prompt.tokens = begin;
    prompt.tokens.insert(prompt.tokens.end(), text->begin(), text->end());
    return prompt;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a passkey and its question take more than ", length, " tokens"));
}

absl::StatusOr<bool> Finds(const PasskeyPrompt& prompt, const text::Codec& codec,
                           EvaluatedModel subject) {
  Reading reading(subject, static_cast<std::int64_t>(prompt.tokens.size()));
  absl::Status status = ReadPrompt(prompt.tokens, subject.max_batch_tokens, reading);
  if (!status.ok()) return status;
  std::vector<TokenId> answer = {reading.greedy()};
  while (static_cast<std::int64_t>(answer.size()) < prompt.answer_tokens) {
    const TokenId last = answer.back();
    status = reading.Read({&last, 1}, Logits::kSampleLast);
    if (!status.ok()) return status;
    answer.push_back(reading.greedy());
  }
  return GivesKey(codec.Decode(answer), prompt.key);
}

}  // namespace

std::vector<std::int64_t> PasskeyLengths(std::int64_t context) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t part : {4, 2, 1}) {
    if (context / part >= kMinPasskeyTokens) lengths.push_back(context / part);
  }
  return lengths;
}

absl::StatusOr<std::vector<PasskeyPrompt>> PasskeyPrompts(const text::Codec& codec,
                                                          std::span<const std::int64_t> lengths,
                                                          int keys) {
  const absl::StatusOr<Window> begin = BeginOfText(codec);
  if (!begin.ok()) return begin.status();
  std::vector<PasskeyPrompt> prompts;
  for (const std::int64_t length : lengths) {
    for (const int depth : kPasskeyDepths) {
      for (int i = 0; i < keys; ++i) {
        auto prompt = MakePrompt(codec, *begin, length, depth, KeyOf(prompts.size()));
        if (!prompt.ok()) return prompt.status();
        prompts.push_back(*std::move(prompt));
      }
    }
  }
  return prompts;
}

bool GivesKey(std::string_view answer, std::string_view key) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = std::min(answer.find_first_not_of(" \n"), answer.size());
  answer.remove_prefix(begin);
  return answer.substr(0, std::min(answer.find_first_not_of(kDigits), answer.size())) == key;
}

absl::StatusOr<std::vector<PasskeyResult>> RetrievePasskeys(std::span<const PasskeyPrompt> prompts,
                                                            const text::Codec& codec,
                                                            EvaluatedModel subject,
                                                            const Progress& progress) {
  std::vector<PasskeyResult> results;
  std::int64_t done = 0;
  for (const PasskeyPrompt& prompt : prompts) {
    if (results.empty() || results.back().length != prompt.length ||
        results.back().depth != prompt.depth) {
      results.push_back({.length = prompt.length, .depth = prompt.depth});
    }
    const absl::StatusOr<bool> found = Finds(prompt, codec, subject);
    if (!found.ok()) return found.status();
    ++results.back().asked;
    if (*found) ++results.back().found;
    progress(++done, static_cast<std::int64_t>(prompts.size()));
  }
  return results;
}

}  // namespace banyan::server
