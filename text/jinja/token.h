// What a template's text is cut into.
#pragma once

#include <cstdint>
#include <string>

namespace banyan::text::jinja {

enum class TokenKind : std::uint8_t {
  kData,           // text outside of tags
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,  // text says which
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 0;
  std::string text{};  // kString: its value
  std::int64_t integer = 0;
  double number = 0;

  bool Is(TokenKind wanted, std::string_view spelled) const {
    return kind == wanted && text == spelled;
  }
  bool IsName(std::string_view name) const { return Is(TokenKind::kName, name); }
  bool IsOperator(std::string_view op) const { return Is(TokenKind::kOperator, op); }
};

// For messages: "end of the template", "'endfor'".
std::string Describe(const Token& token);

}  // namespace banyan::text::jinja
