#include "base/utf8.h"
#include "text/stream.h"

namespace banyan::text {

std::string Detokenizer::Push(TokenId token) {
  held_.append(codec_->TokenBytes(token));
  std::string text;
  std::size_t at = 0;
  while (at < held_.size()) {
    const Utf8Step step = NextUtf8(std::string_view(held_).substr(at));
    if (step.form == Utf8Form::kUnfinished) break;
    if (step.form == Utf8Form::kCharacter) {
      text.append(held_, at, step.length);
    } else {
      text.append(kReplacementCharacter);
    }
    at += step.length;
  }
  held_.erase(0, at);
  return text;
}

std::string Detokenizer::Finish() {
  if (held_.empty()) return {};
  held_.clear();
  return std::string(kReplacementCharacter);
}

}  // namespace banyan::text
