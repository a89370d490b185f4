#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/filters.h"
#include "text/jinja/limits.h"
#include "text/jinja/tests.h"

namespace banyan::text::jinja {

ExpressionParser::Node ExpressionParser::Make(Op op, int line) const {
  auto node = std::make_unique<Expression>();
  node->op = op;
  node->line = line;
  return node;
}

ExpressionParser::Node ExpressionParser::Make(Op op, int line, Node first, Node second) {
  Node node = Make(op, line);
  Adopt(*node, std::move(first));
  if (second != nullptr) Adopt(*node, std::move(second));
  return node;
}

// Operators in a row make a deep tree without deep parsing.
void ExpressionParser::Adopt(Expression& parent, ExpressionPtr kid) {
  if (kid != nullptr) {
    parent.depth = std::max(parent.depth, kid->depth + 1);
    if (parent.depth > kMaxNesting) {
      Stop(parent.line, absl::StrCat("it nests more than ", kMaxNesting, " deep"));
    }
  }
  parent.kids.push_back(std::move(kid));
}

ExpressionParser::Node ExpressionParser::ParseExpression(Conditionals conditionals) {
  const Level level(*this);
  const int line = Current().line;
  Node value = ParseOr();
  if (conditionals == Conditionals::kYes) {
    while (SkipName("if")) {
      Node node = Make(Op::kConditional, line);
      Adopt(*node, std::move(value));
      Adopt(*node, ParseOr());
      Adopt(*node, SkipName("else") ? ParseExpression() : nullptr);
      value = std::move(node);
    }
  }
  return value;
}

ExpressionParser::Node ExpressionParser::ParseOr() {
  const int line = Current().line;
  Node left = ParseAnd();
  while (SkipName("or")) left = Make(Op::kOr, line, std::move(left), ParseAnd());
  return left;
}

ExpressionParser::Node ExpressionParser::ParseAnd() {
  const int line = Current().line;
  Node left = ParseNot();
  while (SkipName("and")) left = Make(Op::kAnd, line, std::move(left), ParseNot());
  return left;
}

ExpressionParser::Node ExpressionParser::ParseNot() {
  const int line = Current().line;
  if (!SkipName("not")) return ParseComparison();
  const Level level(*this);
  return Make(Op::kNot, line, ParseNot());
}

bool ExpressionParser::TakeComparison(Comparison& comparison) {
  static constexpr std::array<std::pair<std::string_view, Comparison>, 6> kOperators = {{
      {"==", Comparison::kEqual},
      {"!=", Comparison::kNotEqual},
      {"<", Comparison::kLess},
      {"<=", Comparison::kLessEqual},
      {">", Comparison::kGreater},
      {">=", Comparison::kGreaterEqual},
  }};
  for (const auto& [spelled, found] : kOperators) {
    if (!SkipOperator(spelled)) continue;
    comparison = found;
    return true;
  }
  comparison = Comparison::kIn;
  if (SkipName("in")) return true;
  if (!Current().IsName("not") || !Ahead().IsName("in")) return false;
  Take();
  Take();
  comparison = Comparison::kNotIn;
  return true;
}

ExpressionParser::Node ExpressionParser::ParseComparison() {
  const int line = Current().line;
  Node first = ParseSum();
  Comparison comparison = Comparison::kEqual;
  if (!TakeComparison(comparison)) return first;
  Node node = Make(Op::kCompare, line, std::move(first));
  do {
    node->comparisons.push_back(comparison);
    Adopt(*node, ParseSum());
  } while (TakeComparison(comparison));
  return node;
}

ExpressionParser::Node ExpressionParser::ParseSum() {
  const int line = Current().line;
  Node left = ParseConcatenation();
  for (;;) {
    if (SkipOperator("+")) {
      left = Make(Op::kAdd, line, std::move(left), ParseConcatenation());
    } else if (SkipOperator("-")) {
      left = Make(Op::kSubtract, line, std::move(left), ParseConcatenation());
    } else {
      return left;
    }
  }
}

ExpressionParser::Node ExpressionParser::ParseConcatenation() {
  const int line = Current().line;
  Node first = ParseProduct();
  if (!Current().IsOperator("~")) return first;
  Node node = Make(Op::kConcatenate, line, std::move(first));
  while (SkipOperator("~")) Adopt(*node, ParseProduct());
  return node;
}

ExpressionParser::Node ExpressionParser::ParseProduct() {
  const int line = Current().line;
  Node left = ParsePower();
  for (;;) {
    if (SkipOperator("*")) {
      left = Make(Op::kMultiply, line, std::move(left), ParsePower());
    } else if (SkipOperator("/")) {
      left = Make(Op::kDivide, line, std::move(left), ParsePower());
    } else if (SkipOperator("//")) {
      left = Make(Op::kFloorDivide, line, std::move(left), ParsePower());
    } else if (SkipOperator("%")) {
      left = Make(Op::kModulo, line, std::move(left), ParsePower());
    } else {
      return left;
    }
  }
}

ExpressionParser::Node ExpressionParser::ParsePower() {
  const int line = Current().line;
  Node left = ParseUnary();
  while (SkipOperator("**")) left = Make(Op::kPower, line, std::move(left), ParseUnary());
  return left;
}

ExpressionParser::Node ExpressionParser::ParseUnary(bool with_filters) {
  const int line = Current().line;
  Node value;
  if (Current().IsOperator("-") || Current().IsOperator("+")) {
    const Level level(*this);
    const Op op = Take().text == "-" ? Op::kNegative : Op::kPositive;
    value = Make(op, line, ParseUnary(false));
  } else {
    value = ParsePrimary();
  }
  value = ParsePostfix(std::move(value));
  return with_filters ? ParseFiltersAndTests(std::move(value)) : std::move(value);
}

ExpressionParser::Node ExpressionParser::ParseTuple(Conditionals conditionals,
                                                    std::string_view end) {
  const int line = Current().line;
  std::vector<Node> items;
  bool is_tuple = false;
  while (!TupleEnds(end)) {
    items.push_back(ParseExpression(conditionals));
    if (!SkipOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (items.empty()) Unexpected("an expression");
    return std::move(items[0]);
  }
  Node tuple = Make(Op::kTuple, line);
  for (Node& item : items) Adopt(*tuple, std::move(item));
  return tuple;
}

bool ExpressionParser::TupleEnds(std::string_view end) const {
  const Token& token = Current();
  return token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd ||
         token.IsOperator(")") || (!end.empty() && token.IsName(end));
}

ExpressionParser::Node ExpressionParser::ParsePrimary() {
  const Token& token = Current();
  const int line = token.line;
  switch (token.kind) {
    case TokenKind::kName:
      return ParseNameOrConstant();
    case TokenKind::kString: {
      Node node = Make(Op::kString, line);
      while (Current().kind == TokenKind::kString) node->text += Take().text;
      return node;
    }
    case TokenKind::kInteger: {
      Node node = Make(Op::kInteger, line);
      node->integer = Take().integer;
      return node;
    }
    case TokenKind::kFloat: {
      Node node = Make(Op::kFloat, line);
      node->number = Take().number;
      return node;
    }
    default:
      break;
  }
  if (SkipOperator("(")) {
    Node node;
    if (Current().IsOperator(")")) {
      node = Make(Op::kTuple, line);
    } else {
      node = ParseTuple(Conditionals::kYes);
    }
    ExpectOperator(")");
    return node;
  }
  if (token.IsOperator("[")) return ParseList();
  if (token.IsOperator("{")) return ParseMapping();
  Unexpected("an expression");
}

ExpressionParser::Node ExpressionParser::ParseNameOrConstant() {
  const Token token = Take();
  if (token.text == "true" || token.text == "True" || token.text == "false" ||
      token.text == "False") {
    Node node = Make(Op::kBool, token.line);
    node->integer = token.text == "true" || token.text == "True" ? 1 : 0;
    return node;
  }
  if (token.text == "none" || token.text == "None") return Make(Op::kNone, token.line);
  Node node = Make(Op::kName, token.line);
  node->name = Intern(token.text);
  NoteUse(token.text);
  return node;
}

void ExpressionParser::NoteUse(const std::string& name) {
  for (Uses& uses : uses_) {
    uses.caller |= name == "caller";
    uses.varargs |= name == "varargs";
    uses.kwargs |= name == "kwargs";
  }
}

ExpressionParser::Node ExpressionParser::ParseList() {
  const int line = Take().line;
  Node node = Make(Op::kList, line);
  while (!Current().IsOperator("]")) {
    Adopt(*node, ParseExpression());
    if (!SkipOperator(",")) break;
  }
  ExpectOperator("]");
  return node;
}

ExpressionParser::Node ExpressionParser::ParseMapping() {
  const int line = Take().line;
  Node node = Make(Op::kMapping, line);
  while (!Current().IsOperator("}")) {
    Adopt(*node, ParseExpression());
    ExpectOperator(":");
    Adopt(*node, ParseExpression());
    if (!SkipOperator(",")) break;
  }
  ExpectOperator("}");
  return node;
}

ExpressionParser::Node ExpressionParser::ParsePostfix(Node value) {
  for (;;) {
    if (Current().IsOperator(".") || Current().IsOperator("[")) {
      value = ParseSubscript(std::move(value));
    } else if (Current().IsOperator("(")) {
      value = ParseCall(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionParser::Node ExpressionParser::ParseFiltersAndTests(Node value) {
  for (;;) {
    if (Current().IsOperator("|")) {
      value = ParseFilters(std::move(value), false);
    } else if (Current().IsName("is")) {
      value = ParseTest(std::move(value));
    } else if (Current().IsOperator("(")) {
      value = ParseCall(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionParser::Node ExpressionParser::ParseSubscript(Node value) {
  const int line = Current().line;
  if (SkipOperator("[")) return ParseIndex(std::move(value), line);
  Take();  // the dot
  const Token token = Take();
  if (token.kind == TokenKind::kName) {
    Node node = Make(Op::kAttribute, line, std::move(value));
    node->text = token.text;
    node->method = MethodNamed(token.text);
    return node;
  }
  if (token.kind != TokenKind::kInteger) Stop(token.line, "expected a name or a number after '.'");
  Node index = Make(Op::kInteger, line);
  index->integer = token.integer;
  return Make(Op::kItem, line, std::move(value), std::move(index));
}

// Behind "[": an index, a slice, or several of them.
ExpressionParser::Node ExpressionParser::ParseIndex(Node value, int line) {
  const auto ends = [&] { return Current().IsOperator("]") || Current().IsOperator(","); };
  Node first;
  if (!Current().IsOperator(":")) {
    first = ParseExpression();
    if (Current().IsOperator(",")) {
      Node tuple = Make(Op::kTuple, line, std::move(first));
      while (SkipOperator(",") && !Current().IsOperator("]")) Adopt(*tuple, ParseExpression());
      first = std::move(tuple);
    }
    if (SkipOperator("]")) return Make(Op::kItem, line, std::move(value), std::move(first));
  }
  ExpectOperator(":");
  Node node = Make(Op::kSlice, line, std::move(value));
  Adopt(*node, std::move(first));
  Adopt(*node, Current().IsOperator(":") || ends() ? nullptr : ParseExpression());
  Adopt(*node, SkipOperator(":") && !ends() ? ParseExpression() : nullptr);
  ExpectOperator("]");
  return node;
}

ExpressionParser::Node ExpressionParser::ParseCall(Node callee) {
  Node call = Make(Op::kCall, Current().line, std::move(callee));
  ParseArguments(*call);
  return call;
}

void ExpressionParser::ParseArguments(Expression& call) {
  CallArguments& arguments = call.arguments;
  const auto parse = [&] {
    Node value = ParseExpression();
    call.depth = std::max(call.depth, value->depth + 1);
    return value;
  };
  const auto must = [&](bool holds) {
    if (!holds) Stop(Current().line, "arguments in an order that is not possible");
  };
  absl::flat_hash_set<std::string> names;
  ExpectOperator("(");
  while (!Current().IsOperator(")")) {
    if (SkipOperator("**")) {
      must(arguments.more_named == nullptr);
      arguments.more_named = parse();
    } else if (SkipOperator("*")) {
      must(arguments.more_positional == nullptr && arguments.more_named == nullptr);
      arguments.more_positional = parse();
    } else if (Current().kind == TokenKind::kName && Ahead().IsOperator("=")) {
      must(arguments.more_named == nullptr);
      const Token name = Take();
      Take();
      if (!names.insert(name.text).second) {
        Stop(name.line, absl::StrCat("argument repeated: ", name.text));
      }
      arguments.named.emplace_back(name.text, parse());
    } else {
      must(arguments.named.empty() && arguments.more_positional == nullptr &&
           arguments.more_named == nullptr);
      arguments.positional.push_back(parse());
    }
    if (!SkipOperator(",")) break;
  }
  ExpectOperator(")");
  Adopt(call, nullptr);  // checks the depth
  call.kids.pop_back();
}

std::string ExpressionParser::ParseDottedName() {
  std::string name = Expect(TokenKind::kName, "a name").text;
  while (SkipOperator(".")) absl::StrAppend(&name, ".", Expect(TokenKind::kName, "a name").text);
  return name;
}

ExpressionParser::Node ExpressionParser::ParseFilters(Node value, bool bar_missing) {
  while (bar_missing || SkipOperator("|")) {
    bar_missing = false;
    Node node = Make(Op::kFilter, Current().line);
    Adopt(*node, std::move(value));
    node->text = ParseDottedName();
    node->filter = FilterNamed(node->text);
    if (Current().IsOperator("(")) ParseArguments(*node);
    value = std::move(node);
  }
  return value;
}

ExpressionParser::Node ExpressionParser::ParseTest(Node value) {
  const int line = Take().line;  // is
  const bool negated = SkipName("not");
  Node node = Make(Op::kTest, line, std::move(value));
  node->text = ParseDottedName();
  node->test = TestNamed(node->text);
  const Token& next = Current();
  const bool argument = next.kind == TokenKind::kString || next.kind == TokenKind::kInteger ||
                        next.kind == TokenKind::kFloat || next.IsOperator("[") ||
                        next.IsOperator("{") ||
                        (next.kind == TokenKind::kName && !next.IsName("else") &&
                         !next.IsName("or") && !next.IsName("and"));
  if (next.IsOperator("(")) {
    ParseArguments(*node);
  } else if (argument) {
    if (next.IsName("is")) Stop(next.line, "tests with 'is' do not follow each other");
    const Level level(*this);
    Node only = ParsePostfix(ParsePrimary());
    node->depth = std::max(node->depth, only->depth + 1);
    node->arguments.positional.push_back(std::move(only));
  }
  return negated ? Make(Op::kNot, line, std::move(node)) : std::move(node);
}

Target ExpressionParser::ParseName() {
  const Token name = Expect(TokenKind::kName, "a name");
  static constexpr std::array<std::string_view, 6> kConstants = {"true",  "True", "false",
                                                                 "False", "none", "None"};
  if (std::find(kConstants.begin(), kConstants.end(), name.text) != kConstants.end()) {
    Stop(name.line, absl::StrCat("can't assign to ", Quote(name.text)));
  }
  return {.line = name.line, .name = Intern(name.text)};
}

Target ExpressionParser::ParseTargetPart(bool with_attributes) {
  const Level level(*this);
  if (SkipOperator("(")) {
    Target target = ParseTarget(with_attributes);
    ExpectOperator(")");
    return target;
  }
  const std::string name = Current().text;
  Target target = ParseName();
  if (with_attributes && SkipOperator(".")) {
    NoteUse(name);
    target.attribute = Expect(TokenKind::kName, "a name").text;
  }
  return target;
}

Target ExpressionParser::ParseTarget(bool with_attributes, std::string_view end) {
  Target tuple = {.line = Current().line, .is_tuple = true};
  bool comma = false;
  while (!TupleEnds(end) && !(comma && Current().IsOperator("="))) {
    tuple.parts.push_back(ParseTargetPart(with_attributes));
    if (!SkipOperator(",")) break;
    comma = true;
  }
  if (tuple.parts.empty()) Unexpected("a name to assign to");
  if (!comma) return Target(tuple.parts[0]);
  return tuple;
}

}  // namespace banyan::text::jinja
