#include "text/pre_tokenizer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/nfc.h"
#include "text/split_steps.h"

namespace banyan::text {

enum class Normal : std::uint8_t { kAsItIs, kNfc };
enum class Merges : std::uint8_t { kFollow, kIgnoreForTokens };
enum class Begin : std::uint8_t { kIfAsked, kUnlessRefused };

constexpr std::size_t kMaxSteps = 6;

struct PreTokenizerRow {
  std::string_view name;
  std::array<SplitStep, kMaxSteps> steps{};  // null from the end of the chain on
  Normal normal = Normal::kAsItIs;
  Merges merges = Merges::kFollow;
  Begin begin = Begin::kIfAsked;
};

namespace {

using Steps = std::array<SplitStep, kMaxSteps>;

constexpr Steps kGpt2 = {Gpt2Words};
constexpr Steps kDigitsThenGpt2 = {EachDigit, Gpt2Words};
constexpr Steps kCl100k = {Cl100kWords};
constexpr Steps kQwen2 = {Qwen2Words};
constexpr Steps kDeepSeekV3 = {NumbersOfThree, IdeographsAndKana, DeepSeekV3Words};

// As the tokenizer.json of each family has them (docs/text.md names the models); names that stand
// for the same are rows of the same.
constexpr std::array kRows = {
    PreTokenizerRow{.name = "gpt-2", .steps = kGpt2},
    PreTokenizerRow{.name = "phi-2", .steps = kGpt2},
    PreTokenizerRow{.name = "mpt", .steps = kGpt2, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "olmo", .steps = kGpt2, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "smollm", .steps = kDigitsThenGpt2},
    PreTokenizerRow{.name = "starcoder", .steps = kDigitsThenGpt2},
    PreTokenizerRow{.name = "refact", .steps = kDigitsThenGpt2},
    PreTokenizerRow{.name = "command-r", .steps = kDigitsThenGpt2, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "falcon", .steps = {PunctuationRuns, Gpt2Words, FalconDigits, Threes}},
    PreTokenizerRow{.name = "llama-bpe",
                    .steps = kCl100k,
                    .merges = Merges::kIgnoreForTokens,
                    .begin = Begin::kUnlessRefused},
    PreTokenizerRow{.name = "llama3",
                    .steps = kCl100k,
                    .merges = Merges::kIgnoreForTokens,
                    .begin = Begin::kUnlessRefused},
    PreTokenizerRow{.name = "llama-v3",
                    .steps = kCl100k,
                    .merges = Merges::kIgnoreForTokens,
                    .begin = Begin::kUnlessRefused},
    PreTokenizerRow{.name = "lfm2",
                    .steps = kCl100k,
                    .merges = Merges::kIgnoreForTokens,
                    .begin = Begin::kUnlessRefused},
    // Its own second step has \p{N}+ where this has \p{N}{1,3}: by then no number is longer.
    PreTokenizerRow{.name = "minicpm5",
                    .steps = {NumbersOfThree, Cl100kWords},
                    .merges = Merges::kIgnoreForTokens},
    PreTokenizerRow{.name = "smaug-bpe", .steps = kCl100k},
    PreTokenizerRow{.name = "dbrx", .steps = kCl100k},
    PreTokenizerRow{.name = "chatglm-bpe", .steps = kCl100k},
    PreTokenizerRow{.name = "glm4", .steps = kCl100k, .merges = Merges::kIgnoreForTokens},
    PreTokenizerRow{.name = "qwen2", .steps = kQwen2, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "deepseek-r1-qwen", .steps = kQwen2, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "qwen35", .steps = {Qwen35Words}, .normal = Normal::kNfc},
    PreTokenizerRow{.name = "seed-coder", .steps = {SeedCoderWords}},
    PreTokenizerRow{.name = "tekken",
                    .steps = {TekkenWords},
                    .merges = Merges::kIgnoreForTokens,
                    .begin = Begin::kUnlessRefused},
    PreTokenizerRow{.name = "gpt-4o", .steps = {O200kWords}},
    PreTokenizerRow{.name = "llama4", .steps = {O200kWords}},
    PreTokenizerRow{.name = "deepseek-llm",
                    .steps = {EachNewline, CasedAfterSpace, AsciiSignsAfterSpace, SpacesAtTheEnd,
                              Ideographs, EachDigit}},
    PreTokenizerRow{
        .name = "deepseek-coder",
        .steps = {EachNewline, LettersAfterSpace, SignsAfterSpace, Ideographs, EachDigit}},
    PreTokenizerRow{.name = "deepseek-v3", .steps = kDeepSeekV3},
};

std::string KnownNames() {
  std::string names;
  for (const PreTokenizerRow& row : kRows) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(row.name));
  }
  return names;
}

// The rest of the chain over one run.
void Cut(const SplitStep* step, const SplitStep* end, std::string_view text, EmitRun emit) {
  if (step == end || *step == nullptr) {
    emit(text);
    return;
  }
  if (step + 1 == end || step[1] == nullptr) {
    (*step)(text, emit);
    return;
  }
  (*step)(text, [&](std::string_view run) { Cut(step + 1, end, run, emit); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<const PreTokenizer>> PreTokenizer::ForName(std::string_view name) {
  for (const PreTokenizerRow& row : kRows) {
    if (row.name == name) return std::unique_ptr<const PreTokenizer>(new PreTokenizer(row));
  }
  return absl::UnimplementedError(absl::StrCat("tokenizer.ggml.pre = ", Quote(name),
                                               ": this pre-tokenizer is not known; known are ",
                                               KnownNames()));
}

void PreTokenizer::ForEachRun(std::string_view text, EmitRun emit) const {
  std::optional<std::string> normal;
  if (row_.normal == Normal::kNfc) normal = ToNfc(text);
  if (normal) text = *normal;
  Cut(row_.steps.data(), row_.steps.data() + row_.steps.size(), text, emit);
}

bool PreTokenizer::ignores_merges() const { return row_.merges == Merges::kIgnoreForTokens; }

// NFC shrinks nothing more than U+1FBE U+0308 U+0301, from seven bytes to two.
std::size_t PreTokenizer::most_bytes_per_byte() const {
  return row_.normal == Normal::kNfc ? 4 : 1;
}

bool PreTokenizer::adds_begin() const { return row_.begin == Begin::kUnlessRefused; }

}  // namespace banyan::text
