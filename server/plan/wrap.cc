#include "server/plan/wrap.h"

#include <algorithm>

namespace banyan::server {

std::string Wrapped(std::string_view label, std::size_t indent, std::string_view text) {
  std::string out(label);
  out.resize(std::max(label.size(), indent), ' ');
  std::size_t column = out.size();
  bool first = true;  // of its line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && column + 1 + word.size() > kTerminalColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + '\n';
}

}  // namespace banyan::server
