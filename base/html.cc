#include "base/html.h"

#include "base/utf8.h"

namespace banyan {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : ToValidUtf8(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

}  // namespace banyan
