// What the parsers of expressions and of statements share: the tokens, the names, the bounds.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "text/jinja/ast.h"
#include "text/jinja/token.h"

namespace banyan::text::jinja {

class ParserBase {
 public:
  explicit ParserBase(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // One level of nesting, as long as it lives.
  class Level {
   public:
    explicit Level(ParserBase& parser);
    ~Level() { --parser_.nesting_; }

   private:
    ParserBase& parser_;
  };

  const Token& Current() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Take();
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view op);
  Token Expect(TokenKind kind, std::string_view what);
  void ExpectOperator(std::string_view op);

  [[noreturn]] static void Stop(int line, std::string message);
  [[noreturn]] void Unexpected(std::string_view wanted) const;

  NameId Intern(const std::string& name);

  std::vector<std::string> names_;

 private:
  std::vector<Token> tokens_;  // ends with a kEnd
  std::size_t at_ = 0;
  int nesting_ = 0;
  absl::flat_hash_map<std::string, NameId> ids_;
};

}  // namespace banyan::text::jinja
