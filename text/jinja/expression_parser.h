// Expressions, from the loosest operator to the tightest: each function parses its own and those
// that bind more tightly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/jinja/parser_base.h"

namespace banyan::text::jinja {

class ExpressionParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

 protected:
  using Node = std::unique_ptr<Expression>;

  enum class Conditionals : bool { kNo, kYes };

  Node ParseExpression(Conditionals conditionals = Conditionals::kYes);
  // Commas make it a tuple. `end`: a name that ends it, besides what ends a tag or a parenthesis.
  Node ParseTuple(Conditionals conditionals, std::string_view end = {});
  Node ParseUnary(bool with_filters = true);
  // |name(...)|name(...); at the front of a filter block the first bar is missing.
  Node ParseFilters(Node value, bool bar_missing);
  Target ParseTarget(bool with_attributes, std::string_view end = {});
  Target ParseName();

  // Names that macros have to know about: which of them a body uses.
  struct Uses {
    bool caller = false, varargs = false, kwargs = false;
  };
  std::vector<Uses> uses_;

 private:
  Node Make(Op op, int line) const;
  Node Make(Op op, int line, Node first, Node second = nullptr);
  static void Adopt(Expression& parent, ExpressionPtr kid);

  Node ParseOr();
  Node ParseAnd();
  Node ParseNot();
  Node ParseComparison();
  bool TakeComparison(Comparison& comparison);
  Node ParseSum();
  Node ParseConcatenation();
  Node ParseProduct();
  Node ParsePower();
  Node ParsePrimary();
  Node ParseNameOrConstant();
  Node ParsePostfix(Node value);
  Node ParseFiltersAndTests(Node value);
  Node ParseSubscript(Node value);
  Node ParseIndex(Node value, int line);
  Node ParseCall(Node callee);
  void ParseArguments(Expression& call);
  Node ParseTest(Node value);
  std::string ParseDottedName();
  Node ParseList();
  Node ParseMapping();
  bool TupleEnds(std::string_view end) const;
  Target ParseTargetPart(bool with_attributes);
  void NoteUse(const std::string& name);
};

}  // namespace banyan::text::jinja
