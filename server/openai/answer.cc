#include "server/openai/answer.h"

#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace banyan::server::openai {

Answer::Answer(const text::Codec& codec, Options options)
    : options_(std::move(options)), detokenizer_(codec), stops_(options_.stops) {
  if (!options_.reasoning) return;
  CHECK(codec.reasoning() != nullptr);
  splitter_.emplace(*codec.reasoning(), *options_.reasoning);
}

Delta Answer::Push(ScoredToken token) {
  if (stopped_) return {};
  ++tokens_;
  if (options_.entries) {
    waiting_.push_back({.entry = {.token = token.token,
                                  .log_probability = token.log_probability,
                                  .top = std::move(token.top),
                                  .offset = options_.offset + characters_},
                        .start = detokenized_});
  }
  return Tell(Search(detokenizer_.Push(token.token)));
}

Delta Answer::Finish() {
  std::string text;
  if (!stopped_) text = Search(detokenizer_.Finish());
  if (!stopped_) {
    std::string held = stops_.Finish();
    told_ += held.size();
    text += held;
  }
  Delta delta = Tell(std::move(text));
  if (splitter_) Split(splitter_->Finish(), delta);
  for (Waiting& one : waiting_) delta.entries.push_back(std::move(one.entry));
  waiting_.clear();
  return delta;
}

std::string Answer::Search(std::string_view text) {
  detokenized_ += text.size();
  characters_ += static_cast<std::int64_t>(CountCharacters(text));
  std::string certain;
  if (tokens_ <= options_.min_tokens) {
    certain = text;
  } else {
    text::StopMatcher::Output output = stops_.Push(text);
    stopped_ = output.stopped;
    certain = std::move(output.text);
  }
  told_ += certain.size();
  return certain;
}

Delta Answer::Tell(std::string text) {
  Delta delta;
  while (!waiting_.empty() && waiting_.front().start < told_) {
    delta.entries.push_back(std::move(waiting_.front().entry));
    waiting_.pop_front();
  }
  if (stopped_) waiting_.clear();
  if (splitter_) {
    Split(splitter_->Push(text), delta);
  } else {
    delta.text = std::move(text);
  }
  return delta;
}

void Answer::Split(text::ReasoningSplitter::Output output, Delta& delta) {
  reasoned_ |= !output.reasoning.empty();
  answered_ |= !output.answer.empty();
  if (!answered_) tokens_before_text_ = tokens_;
  delta.reasoning += output.reasoning;
  delta.text += output.answer;
}

}  // namespace banyan::server::openai
