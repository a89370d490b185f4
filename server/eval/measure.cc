#include "server/eval/measure.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/check.h"

namespace banyan::server {
namespace {

constexpr std::size_t kLogitRows = 64;  // kept at once, of each model
constexpr std::int64_t kDecodeSteps = 64;

// Adds the rows whose next token the window has.
void AddRows(const Window& window, std::size_t begin, std::size_t count,
             std::span<const float> exact, std::span<const float> other, Comparison& comparison) {
  const std::size_t width = exact.size() / count;
  for (std::size_t i = 0; i < count && begin + i + 1 < window.size(); ++i) {
    comparison.Add(CompareLogits(exact.subspan(i * width, width), other.subspan(i * width, width),
                                 window[begin + i + 1]));
  }
}

std::int64_t PromptTokens(const EvaluatedModel& subject, const Window& window) {
  using Type = scheduler::KvPolicy::Type;
  const bool once = subject.policy && subject.policy->type == Type::kSnapKv;
  return once ? static_cast<std::int64_t>(window.size() + 1) / 2 : 1;
}

absl::Status CompareOverWindow(const Window& window, std::size_t chunk, Reading& exact,
                               Reading& other, Comparison& comparison) {
  for (std::size_t begin = 0; begin < window.size(); begin += chunk) {
    const std::size_t count = std::min(chunk, window.size() - begin);
    const auto tokens = std::span(window).subspan(begin, count);
    for (Reading* reading : {&exact, &other}) {
      if (absl::Status status = reading->Read(tokens, Logits::kReturnAll); !status.ok())
        return status;
    }
    AddRows(window, begin, count, exact.logits(), other.logits(), comparison);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TextResult> CompareOverText(std::span<const Window> windows, EvaluatedModel exact,
                                           EvaluatedModel other, const Progress& progress) {
  CHECK(&exact.model != &other.model);
  const auto chunk = std::min({kLogitRows, static_cast<std::size_t>(exact.max_batch_tokens),
                               static_cast<std::size_t>(other.max_batch_tokens)});
  Comparison comparison;
  TextResult result;
  std::int64_t slots = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Reading exact_reading(exact, /*prompt_tokens=*/1);
    Reading reading(other, PromptTokens(other, windows[i]));
    absl::Status status = CompareOverWindow(windows[i], chunk, exact_reading, reading, comparison);
    if (!status.ok()) return status;
    result.peak_pages = std::max(result.peak_pages, reading.use().peak_pages);
    slots += reading.use().slots_over_time;
    tokens += reading.use().tokens_over_time;
    progress(static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(windows.size()));
  }
  result.quality = comparison.Summary();
  result.page_fill = static_cast<double>(tokens) / static_cast<double>(slots);
  return result;
}

absl::StatusOr<DecodeSpeed> MeasureDecode(const Window& window, EvaluatedModel subject) {
  const auto size = static_cast<std::int64_t>(window.size());
  CHECK(size >= 2);
  DecodeSpeed speed{.context = size - 1, .steps = std::min(kDecodeSteps, size / 2)};
  const auto tokens = std::span(window);
  const auto prompt = static_cast<std::size_t>(size - speed.steps);
  Reading reading(subject, size - speed.steps);
  absl::Status status = ReadPrompt(tokens.first(prompt), subject.max_batch_tokens, reading);
  if (!status.ok()) return status;
  std::vector<double> seconds;
  for (std::size_t i = prompt; i < tokens.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    status = reading.Read(tokens.subspan(i, 1), Logits::kSampleLast);
    if (!status.ok()) return status;
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  speed.tokens_per_second = 1 / *middle;
  return speed;
}

absl::Status ReadPrompt(std::span<const TokenId> tokens, std::int32_t chunk, Reading& reading) {
  while (!tokens.empty()) {
    const auto run = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(chunk)));
    tokens = tokens.subspan(run.size());
    absl::Status status = reading.Read(run, tokens.empty() ? Logits::kSampleLast : Logits::kNone);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace banyan::server
