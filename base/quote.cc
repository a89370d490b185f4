#include "base/quote.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/utf8.h"

namespace banyan {

std::string Quote(std::string_view text) {
  std::string_view shown = text.substr(0, kMaxQuotedBytes);
  const bool cut = shown.size() < text.size();
  // A character that the cut went through is left out; what else is not UTF-8 is escaped.
  if (cut) {
    std::size_t at = 0;
    while (at < shown.size()) {
      const Utf8Step step = NextUtf8(shown.substr(at));
      if (step.form == Utf8Form::kUnfinished) break;
      at += step.length;
    }
    shown = shown.substr(0, at);
  }
  const absl::string_view view(shown.data(), shown.size());
  std::string quoted = FirstInvalidUtf8(shown) == std::string_view::npos
                           ? absl::Utf8SafeCEscape(view)
                           : absl::CEscape(view);
  return '\'' + quoted + (cut ? "...'" : "'");
}

std::string QuoteWhereNeeded(std::string_view text) {
  std::string quoted = Quote(text);
  const bool same = std::string_view(quoted).substr(1, quoted.size() - 2) == text;
  return same ? std::string(text) : quoted;
}

std::string OnOneLine(std::string text) {
  const auto is_control = [](unsigned char c) { return absl::ascii_iscntrl(c); };
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  return text;
}

}  // namespace banyan
