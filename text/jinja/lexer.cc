#include "text/jinja/lexer.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/characters.h"
#include "text/jinja/error.h"
#include "text/jinja/literal.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// The longest first.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool IsNameByte(char c) {
  return absl::ascii_isalnum(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// One line break is one \n, and one at the end is none.
std::string Normalize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out.push_back(text[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : source_(Normalize(text)), text_(source_) {}

  std::vector<Token> Run();

 private:
  struct Tag {
    std::size_t at = kNone;
    std::size_t after = 0;  // behind "{%" and its sign
    char kind = 0;          // '{', '%', '#'
    char sign = 0;          // '-', '+'
  };

  [[noreturn]] void Stop(std::string message) const {
    Error error(ErrorKind::kFailed, std::move(message));
    error.AtLine(line_);
    throw error;
  }
  std::string_view Rest() const { return text_.substr(at_); }
  // To `end`, counting lines.
  void MoveTo(std::size_t end);
  void Add(TokenKind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  Tag NextTag() const;
  void Data(std::size_t end, const Tag& tag);
  bool RawBlock(const Tag& tag);
  void Comment();
  void Code(TokenKind end, char closing);
  bool CodeEnds(TokenKind end, char closing);
  void CodeToken();
  void Number();
  void Operator();
  // Behind the white space at `from`.
  std::size_t SkipSpace(std::size_t from) const { return from + LeadingSpace(text_.substr(from)); }

  const std::string source_;
  const std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // what was read last ended a line
  std::string open_;         // brackets: what closes them
  std::vector<Token> tokens_;
};

void Lexer::MoveTo(std::size_t end) {
  for (std::size_t i = at_; i < end; ++i) line_ += text_[i] == '\n' ? 1 : 0;
  if (end > at_) line_starts_ = text_[end - 1] == '\n';
  at_ = end;
}

std::vector<Token> Lexer::Run() {
  while (at_ < text_.size()) {
    const Tag tag = NextTag();
    Data(tag.at == kNone ? text_.size() : tag.at, tag);
    if (tag.at == kNone) break;
    if (tag.kind == '%' && RawBlock(tag)) continue;
    const TokenKind begin = tag.kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin;
    if (tag.kind != '#') Add(begin);
    MoveTo(tag.after);
    if (tag.kind == '#') {
      Comment();
    } else if (tag.kind == '{') {
      Code(TokenKind::kVariableEnd, '}');
    } else {
      Code(TokenKind::kBlockEnd, '%');
    }
  }
  Add(TokenKind::kEnd);
  return std::move(tokens_);
}

Lexer::Tag Lexer::NextTag() const {
  for (std::size_t i = text_.find('{', at_); i != kNone; i = text_.find('{', i + 1)) {
    const char kind = i + 1 < text_.size() ? text_[i + 1] : '\0';
    if (kind != '{' && kind != '%' && kind != '#') continue;
    Tag tag = {.at = i, .after = i + 2, .kind = kind};
    if (tag.after < text_.size() && (text_[tag.after] == '-' || text_[tag.after] == '+')) {
      tag.sign = text_[tag.after++];
    }
    return tag;
  }
  return {};
}

// The text up to a tag; the tag decides what becomes of the white space before it.
void Lexer::Data(std::size_t end, const Tag& tag) {
  std::string_view data = text_.substr(at_, end - at_);
  if (tag.at != kNone && tag.sign == '-') {
    data.remove_suffix(TrailingSpace(data));
  } else if (tag.at != kNone && tag.sign != '+' && tag.kind != '{') {
    const std::size_t newline = data.rfind('\n');
    const std::size_t line = newline == kNone ? 0 : newline + 1;
    if ((line > 0 || line_starts_) && line + LeadingSpace(data.substr(line)) == data.size()) {
      data = data.substr(0, line);
    }
  }
  if (!data.empty()) Add(TokenKind::kData, std::string(data));
  MoveTo(end);
}

// {% raw %} ... {% endraw %}
bool Lexer::RawBlock(const Tag& tag) {
  std::size_t i = SkipSpace(tag.after);
  if (text_.substr(i, 3) != "raw") return false;
  i = SkipSpace(i + 3);
  if (text_.substr(i, 3) == "-%}") {
    i = SkipSpace(i + 3);
  } else if (text_.substr(i, 2) == "%}") {
    i += 2;
  } else {
    return false;
  }
  MoveTo(i);
  for (std::size_t from = at_;;) {
    const std::size_t begin = text_.find("{%", from);
    if (begin == kNone) Stop("Missing end of raw directive");
    from = begin + 2;
    Tag end = {.at = begin, .after = from, .kind = '%'};
    if (end.after < text_.size() && (text_[end.after] == '-' || text_[end.after] == '+')) {
      end.sign = text_[end.after++];
    }
    std::size_t close = SkipSpace(end.after);
    if (text_.substr(close, 6) != "endraw") continue;
    close = SkipSpace(close + 6);
    const std::string_view rest = text_.substr(close);
    if (!rest.starts_with("+%}") && !rest.starts_with("-%}") && !rest.starts_with("%}")) continue;
    Data(begin, end);
    MoveTo(close);
    CodeEnds(TokenKind::kBlockEnd, '%');
    tokens_.pop_back();  // no block begins here for the parser
    return true;
  }
}

void Lexer::Comment() {
  const std::size_t end = text_.find("#}", at_);
  if (end == kNone) Stop("Missing end of comment tag");
  const char sign = end > at_ ? text_[end - 1] : '\0';
  std::size_t after = end + 2;
  if (sign == '-') {
    after = SkipSpace(after);
  } else if (sign != '+' && after < text_.size() && text_[after] == '\n') {
    ++after;
  }
  MoveTo(after);
}

void Lexer::Code(TokenKind end, char closing) {
  open_.clear();
  for (;;) {
    if (open_.empty() && CodeEnds(end, closing)) return;
    if (at_ >= text_.size()) return;  // the parser misses the end
    const std::size_t space = LeadingSpace(Rest());
    if (space > 0) {
      MoveTo(at_ + space);
    } else {
      CodeToken();
    }
  }
}

// Reads "%}", "-%}" and, in blocks, "+%}" with the white space that goes with them.
bool Lexer::CodeEnds(TokenKind end, char closing) {
  const std::string_view rest = Rest();
  const bool block = end == TokenKind::kBlockEnd;
  const std::size_t sign = !rest.empty() && (rest[0] == '-' || (block && rest[0] == '+')) ? 1 : 0;
  if (rest.size() < sign + 2 || rest[sign] != closing || rest[sign + 1] != '}') return false;
  std::size_t after = at_ + sign + 2;
  if (sign == 1 && rest[0] == '-') {
    after = SkipSpace(after);
  } else if (sign == 0 && block && after < text_.size() && text_[after] == '\n') {
    ++after;
  }
  Add(end);
  MoveTo(after);
  return true;
}

void Lexer::CodeToken() {
  const char c = text_[at_];
  if (absl::ascii_isdigit(c)) return Number();
  if (IsNameByte(c)) {
    std::size_t end = at_;
    while (end < text_.size() && IsNameByte(text_[end])) ++end;
    Add(TokenKind::kName, std::string(text_.substr(at_, end - at_)));
    return MoveTo(end);
  }
  if (c == '\'' || c == '"') {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != c) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) Stop(absl::StrCat("unexpected char ", Quote({&c, 1})));
    std::optional<std::string> value = Unescape(text_.substr(at_ + 1, end - at_ - 1));
    if (!value) Stop("a string with an escape that names no character");
    Add(TokenKind::kString, *std::move(value));
    return MoveTo(end + 1);
  }
  Operator();
}

void Lexer::Number() {
  const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
  const std::optional<NumberLiteral> number = ReadNumber(Rest(), after_dot);
  if (!number) Stop("an integer that is too large");
  tokens_.push_back({.kind = number->is_float ? TokenKind::kFloat : TokenKind::kInteger,
                     .line = line_,
                     .text = std::string(text_.substr(at_, number->length)),
                     .integer = number->integer,
                     .number = number->number});
  MoveTo(at_ + number->length);
}

void Lexer::Operator() {
  for (const std::string_view op : kOperators) {
    if (!Rest().starts_with(op)) continue;
    const char c = op[0];
    if (op.size() == 1 && (c == '(' || c == '[' || c == '{')) {
      open_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) Stop(absl::StrCat("unexpected '", std::string(op), "'"));
      if (open_.back() != c) {
        Stop(absl::StrCat("unexpected '", std::string(op), "', expected '",
                          std::string(1, open_.back()), "'"));
      }
      open_.pop_back();
    }
    Add(TokenKind::kOperator, std::string(op));
    return MoveTo(at_ + op.size());
  }
  Stop(absl::StrCat("unexpected char ", Quote(Rest().substr(0, 1))));
}

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kData:
      return "text";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    default:
      return Quote(token.text);
  }
}

std::vector<Token> Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace banyan::text::jinja
