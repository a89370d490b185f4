#include "loadtest/client/json_text.h"

#include <cstddef>

namespace banyan::loadtest {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool IsPlain(char c) { return static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\'; }

void AppendEscape(char c, std::string& json) {
  switch (c) {
    case '"':
    case '\\':
      json += '\\';
      json += c;
      return;
    case '\n':
      json += "\\n";
      return;
    case '\r':
      json += "\\r";
      return;
    case '\t':
      json += "\\t";
      return;
    default:
      json += "\\u00";
      json += kHex[static_cast<unsigned char>(c) >> 4];
      json += kHex[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

void AppendEscaped(std::string_view text, std::string& json) {
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    json += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    AppendEscape(text.front(), json);
    text.remove_prefix(1);
  }
}

void AppendQuoted(std::string_view text, std::string& json) {
  json += '"';
  AppendEscaped(text, json);
  json += '"';
}

}  // namespace banyan::loadtest
