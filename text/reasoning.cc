#include "text/reasoning.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "text/jinja/characters.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

using jinja::LeadingSpace;
using jinja::TrailingSpace;

struct Family {
  std::string_view begin;
  std::string_view end;
};

constexpr std::array<Family, 8> kFamilies = {{
    {"<seed:think>", "</seed:think>"},            // Seed-OSS
    {"<mm:think>", "</mm:think>"},                // MiniMax M3
    {"<|START_THINKING|>", "<|END_THINKING|>"},   // Command R7B, A
    {"[THINK]", "[/THINK]"},                      // Magistral, Ministral 3
    {"\u25C1think\u25B7", "\u25C1/think\u25B7"},  // Kimi VL
    {"<|channel>thought", "<channel|>"},          // Gemma 4
    {"<thinking>", "</thinking>"},                // Apriel
    {"<think>", "</think>"},                      // DeepSeek R1, Qwen3, and most others
}};

// The length of the longest end of `text` that begins `mark`, but is not all of it.
std::size_t PartialMark(std::string_view text, std::string_view mark) {
  for (std::size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length) {
    if (mark.starts_with(text.substr(text.size() - length))) return length;
  }
  return 0;
}

}  // namespace

// Templates that only take answers apart name no more than the end.
std::optional<ReasoningMarks> ReasoningMarksOf(std::string_view template_text) {
  for (const Family& family : kFamilies) {
    if (template_text.find(family.end) == std::string_view::npos) continue;
    return ReasoningMarks{std::string(family.begin), std::string(family.end)};
  }
  return std::nullopt;
}

ReasoningSplitter::ReasoningSplitter(const ReasoningMarks& marks, Start start)
    : marks_(marks), state_(start == Start::kAnswer ? State::kBegin : State::kReasoning) {
  after_mark_ = start == Start::kReasoning;
}

ReasoningSplitter::Start ReasoningSplitter::StartAfter(const ReasoningMarks& marks,
                                                       std::span<const Piece> prompt) {
  for (const Piece& piece : prompt | std::views::reverse) {
    std::string_view text = piece.text;
    text.remove_suffix(TrailingSpace(text));
    if (text.empty()) continue;
    const bool opened = piece.origin == Origin::kTemplate && text.ends_with(marks.begin);
    return opened ? Start::kReasoning : Start::kAnswer;
  }
  return Start::kAnswer;
}

ReasoningSplitter::Output ReasoningSplitter::Push(std::string_view text) {
  held_ += text;
  Output out;
  while (Advance(out)) {
  }
  return out;
}

// Takes what is certain off `held_`; false when no more is.
bool ReasoningSplitter::Advance(Output& out) {
  if (after_mark_) {
    held_.erase(0, LeadingSpace(held_));
    if (held_.empty()) return false;
    after_mark_ = false;
  }
  switch (state_) {
    case State::kBegin: {
      const std::size_t space = LeadingSpace(held_);
      const std::string_view rest = std::string_view(held_).substr(space);
      if (rest.starts_with(marks_.begin)) {
        held_.erase(0, space + marks_.begin.size());
        state_ = State::kReasoning;
        after_mark_ = true;
        return true;
      }
      if (std::string_view(marks_.begin).starts_with(rest)) return false;
      state_ = State::kAnswer;
      return true;
    }
    case State::kReasoning:
      return AdvanceReasoning(out);
    case State::kAnswer:
      break;
  }
  out.answer += std::exchange(held_, {});
  return false;
}

bool ReasoningSplitter::AdvanceReasoning(Output& out) {
  const std::size_t end = held_.find(marks_.end);
  const bool found = end != std::string::npos;
  std::string_view certain = held_;
  certain = certain.substr(0, found ? end : held_.size() - PartialMark(held_, marks_.end));
  certain.remove_suffix(TrailingSpace(certain));
  out.reasoning += certain;
  held_.erase(0, found ? end + marks_.end.size() : certain.size());
  if (!found) return false;
  state_ = State::kAnswer;
  after_mark_ = true;
  return true;
}

ReasoningSplitter::Output ReasoningSplitter::Finish() {
  Output out;
  std::string rest = std::exchange(held_, {});
  (state_ == State::kReasoning ? out.reasoning : out.answer) = std::move(rest);
  return out;
}

}  // namespace banyan::text
