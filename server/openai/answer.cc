#include "server/openai/answer.h"

#include <string_view>
#include <utility>

namespace banyan::server::openai {

std::string Answer::Push(TokenId token) {
  if (stopped_) return "";
  ++tokens_;
  return Match(detokenizer_.Push(token));
}

std::string Answer::Finish() {
  if (stopped_) return "";
  std::string text = Match(detokenizer_.Finish());
  if (!stopped_) text += stops_.Finish();
  return text;
}

std::string Answer::Match(std::string_view text) {
  text::StopMatcher::Output output = stops_.Push(text);
  stopped_ = output.stopped;
  return std::move(output.text);
}

}  // namespace banyan::server::openai
