#include "loadtest/workload/transform.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "loadtest/workload/json.h"

namespace banyan::loadtest {
namespace {

// Depends on the length alone, so that equal segments stay equal.
std::int64_t ScaleTokens(std::int64_t tokens, double factor) {
  const double scaled = std::floor(static_cast<double>(tokens) * factor + 0.5);
  return static_cast<std::int64_t>(std::clamp(scaled, 1.0, static_cast<double>(kMaxTokens)));
}

Tick ScaleTime(Tick time, double factor) {
  return Tick(static_cast<Tick::rep>(std::floor(static_cast<double>(time.count()) * factor + 0.5)));
}

bool IsFactor(double factor) { return factor > 0 && std::isfinite(factor); }

absl::Status Check(const Fit& fit, const Workload& workload) {
  if (!IsFactor(fit.lengths) || !IsFactor(fit.times)) {
    return absl::InvalidArgumentError("factors of lengths and times must be over 0");
  }
  if (fit.max_prompt_tokens < 0 || fit.max_output_tokens < 0) {
    return absl::InvalidArgumentError("bounds of tokens must not be negative");
  }
  Tick longest(0);
  for (const Conversation& conversation : workload.conversations) {
    for (const Turn& turn : conversation.turns) {
      longest = std::max({longest, turn.think, turn.at.value_or(Tick(0))});
    }
  }
  if (Seconds(longest) * fit.times > kMaxSeconds) {
    return absl::InvalidArgumentError(
        absl::StrCat("times ", fit.times, ", a time of ", Seconds(longest), " s is too long"));
  }
  return absl::OkStatus();
}

void Scale(const Fit& fit, Turn& turn) {
  for (Message& message : turn.messages) {
    for (Segment& segment : message.segments) {
      segment.tokens = static_cast<std::int32_t>(ScaleTokens(segment.tokens, fit.lengths));
    }
  }
  if (turn.output_tokens > 0) turn.output_tokens = ScaleTokens(turn.output_tokens, fit.lengths);
  if (fit.max_output_tokens > 0 &&
      (turn.output_tokens == 0 || turn.output_tokens > fit.max_output_tokens)) {
    turn.output_tokens = fit.max_output_tokens;
  }
  if (turn.at.has_value()) turn.at = ScaleTime(*turn.at, fit.times);
  turn.think = ScaleTime(turn.think, fit.times);
}

// Cuts the message's end, so that `most` tokens are left; what it has then.
std::int64_t Cut(std::int64_t most, Message& message) {
  std::int64_t tokens = 0;
  std::size_t kept = 0;
  for (; kept < message.segments.size() && tokens < most; ++kept) {
    Segment& segment = message.segments[kept];
    segment.tokens =
        static_cast<std::int32_t>(std::min<std::int64_t>(segment.tokens, most - tokens));
    tokens += segment.tokens;
  }
  message.segments.resize(kept);
  return tokens;
}

// Cuts the turn's end, so that `most` tokens are left, of each message at least one. False when
// that cannot be: then the turn is of no use.
bool Cut(std::int64_t most, Turn& turn, std::int64_t& tokens) {
  auto after = std::count_if(turn.messages.begin(), turn.messages.end(),
                             [](const Message& message) { return !message.segments.empty(); });
  tokens = 0;
  if (most < after) return false;
  for (Message& message : turn.messages) {
    if (message.segments.empty()) continue;
    --after;
    tokens += Cut(most - tokens - after, message);
  }
  return true;
}

// The prompt of a turn is all before it, the earlier answers too, and its own messages.
void BoundPrompts(std::int64_t most, Conversation& conversation) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < conversation.turns.size(); ++i) {
    std::int64_t tokens = 0;
    if (!Cut(most - before, conversation.turns[i], tokens)) {
      conversation.turns.resize(i);
      return;
    }
    before += tokens + conversation.turns[i].output_tokens;
  }
}

// "; lengths x 0.03, prompts cut to 2000 tokens": reports must say so.
std::string Describe(const Fit& fit) {
  std::vector<std::string> words;
  if (fit.lengths != 1) words.push_back(absl::StrCat("lengths x ", fit.lengths));
  if (fit.max_output_tokens > 0) {
    words.push_back(absl::StrCat("answers cut to ", fit.max_output_tokens, " tokens"));
  }
  if (fit.max_prompt_tokens > 0) {
    words.push_back(absl::StrCat("prompts cut to ", fit.max_prompt_tokens, " tokens"));
  }
  if (fit.times != 1) words.push_back(absl::StrCat("times x ", fit.times));
  return words.empty() ? "" : absl::StrCat("; ", absl::StrJoin(words, ", "));
}

}  // namespace

absl::Status Apply(const Fit& fit, Workload& workload) {
  if (absl::Status status = Check(fit, workload); !status.ok()) return status;
  for (Conversation& conversation : workload.conversations) {
    for (Turn& turn : conversation.turns) Scale(fit, turn);
    if (fit.max_prompt_tokens > 0) BoundPrompts(fit.max_prompt_tokens, conversation);
  }
  absl::StrAppend(&workload.source, Describe(fit));
  if (workload.block_tokens > 0) {
    workload.block_tokens =
        static_cast<std::int32_t>(ScaleTokens(workload.block_tokens, fit.lengths));
  }
  std::erase_if(workload.conversations,
                [](const Conversation& conversation) { return conversation.turns.empty(); });
  if (workload.conversations.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no prompt fits into ", fit.max_prompt_tokens, " tokens"));
  }
  return absl::OkStatus();
}

}  // namespace banyan::loadtest
