#include "text/jinja/parser_base.h"

#include "absl/strings/str_cat.h"
#include "text/jinja/error.h"

namespace banyan::text::jinja {

ParserBase::Level::Level(ParserBase& parser) : parser_(parser) {
  if (++parser.nesting_ <= kMaxNesting) return;
  --parser.nesting_;
  Stop(parser.Current().line, absl::StrCat("it nests more than ", kMaxNesting, " deep"));
}

Token ParserBase::Take() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ParserBase::SkipName(std::string_view name) {
  if (!Current().IsName(name)) return false;
  Take();
  return true;
}

bool ParserBase::SkipOperator(std::string_view op) {
  if (!Current().IsOperator(op)) return false;
  Take();
  return true;
}

Token ParserBase::Expect(TokenKind kind, std::string_view what) {
  if (Current().kind != kind) Unexpected(what);
  return Take();
}

void ParserBase::ExpectOperator(std::string_view op) {
  if (!SkipOperator(op)) Unexpected(absl::StrCat("'", std::string(op), "'"));
}

void ParserBase::Stop(int line, std::string message) {
  Error error(ErrorKind::kFailed, std::move(message));
  error.AtLine(line);
  throw error;
}

void ParserBase::Unexpected(std::string_view wanted) const {
  Stop(Current().line,
       absl::StrCat("expected ", std::string(wanted), ", got ", Describe(Current())));
}

NameId ParserBase::Intern(const std::string& name) {
  const auto [entry, added] = ids_.emplace(name, static_cast<NameId>(names_.size()));
  if (added) names_.push_back(name);
  return entry->second;
}

}  // namespace banyan::text::jinja
