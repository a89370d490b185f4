// Statements: what stands in {% %}, and the text and expressions between.
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/jinja/error.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"
#include "text/jinja/limits.h"
#include "text/jinja/parser.h"

namespace banyan::text::jinja {
namespace {

using Ends = std::initializer_list<std::string_view>;

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Template Parse() {
    Template parsed;
    parsed.body = ParseBody({});
    parsed.loop = Intern("loop");
    parsed.caller = Intern("caller");
    parsed.names = std::move(names_);
    return parsed;
  }

 private:
  using Made = std::unique_ptr<Statement>;

  Made Make(Verb verb) const {
    auto statement = std::make_unique<Statement>();
    statement->verb = verb;
    statement->line = Current().line;
    return statement;
  }

  // Up to a tag named in `ends`, which is left; up to the end of the template when there are none.
  Block ParseBody(Ends ends);
  // From the end of a tag, up to and with the name of the tag that ends the body.
  Block ParseBlock(Ends ends);
  void EndTag() { Expect(TokenKind::kBlockEnd, "the end of the tag"); }

  Made ParseStatement();
  Made ParsePrint();
  Made ParseIf();
  Made ParseFor();
  Made ParseSet();
  Made ParseMacro();
  Made ParseCallBlock();
  Made ParseFilterBlock();
  Made ParseWith();
  Made ParseGeneration();
  Made ParseLoopControl(Verb verb);
  void ParseParameters(MacroNode& macro);
  void ParseMacroBody(MacroNode& macro, std::string_view end);

  int loops_ = 0;  // around the current statement, within its macro
};

Block StatementParser::ParseBody(Ends ends) {
  const Level level(*this);
  Block body;
  for (;;) {
    switch (Current().kind) {
      case TokenKind::kData: {
        Made text = Make(Verb::kText);
        text->text = Take().text;
        body.push_back(std::move(text));
        break;
      }
      case TokenKind::kVariableBegin: {
        Take();
        Made output = Make(Verb::kOutput);
        output->value = ParseTuple(Conditionals::kYes);
        Expect(TokenKind::kVariableEnd, "'}}'");
        body.push_back(std::move(output));
        break;
      }
      case TokenKind::kBlockBegin: {
        Take();
        for (const std::string_view end : ends) {
          if (Current().IsName(end)) return body;
        }
        Made statement = ParseStatement();
        EndTag();
        body.push_back(std::move(statement));
        break;
      }
      default:
        if (ends.size() > 0) Unexpected(absl::StrCat("'", std::string(*(ends.end() - 1)), "'"));
        return body;
    }
  }
}

Block StatementParser::ParseBlock(Ends ends) {
  SkipOperator(":");
  EndTag();
  return ParseBody(ends);
}

StatementParser::Made StatementParser::ParseStatement() {
  struct Row {
    std::string_view name;
    Made (StatementParser::*parse)();
  };
  static constexpr std::array<Row, 9> kRows = {{
      {"if", &StatementParser::ParseIf},
      {"for", &StatementParser::ParseFor},
      {"set", &StatementParser::ParseSet},
      {"macro", &StatementParser::ParseMacro},
      {"call", &StatementParser::ParseCallBlock},
      {"filter", &StatementParser::ParseFilterBlock},
      {"with", &StatementParser::ParseWith},
      {"print", &StatementParser::ParsePrint},
      {"generation", &StatementParser::ParseGeneration},
  }};
  const Token& tag = Current();
  if (tag.kind != TokenKind::kName) Unexpected("the name of a tag");
  for (const Row& row : kRows) {
    if (tag.text == row.name) return (this->*row.parse)();
  }
  if (tag.text == "break") return ParseLoopControl(Verb::kBreak);
  if (tag.text == "continue") return ParseLoopControl(Verb::kContinue);
  if (tag.text == "do") {
    Made statement = Make(Verb::kDo);
    Take();
    statement->value = ParseTuple(Conditionals::kYes);
    return statement;
  }
  static constexpr std::array<std::string_view, 6> kOthers = {"include", "import",     "from",
                                                              "extends", "autoescape", "block"};
  for (const std::string_view other : kOthers) {
    if (tag.text == other) {
      Stop(tag.line, absl::StrCat("the tag ", Quote(tag.text), " is not supported"));
    }
  }
  Stop(tag.line, absl::StrCat("unknown tag ", Quote(tag.text)));
}

StatementParser::Made StatementParser::ParsePrint() {
  Made statement = Make(Verb::kScope);
  statement->verb = Verb::kIf;  // of one branch, always taken
  Take();
  Statement::Branch always;
  while (Current().kind != TokenKind::kBlockEnd) {
    Made output = Make(Verb::kOutput);
    output->value = ParseExpression();
    always.body.push_back(std::move(output));
    if (!SkipOperator(",")) break;
  }
  statement->branches.push_back(std::move(always));
  return statement;
}

StatementParser::Made StatementParser::ParseIf() {
  Made statement = Make(Verb::kIf);
  Take();
  for (;;) {
    Statement::Branch branch;
    branch.condition = ParseTuple(Conditionals::kNo);
    branch.body = ParseBlock({"elif", "else", "endif"});
    statement->branches.push_back(std::move(branch));
    if (SkipName("elif")) continue;
    if (!SkipName("else")) break;
    statement->branches.push_back({.condition = nullptr, .body = ParseBlock({"endif"})});
    break;
  }
  Take();  // endif
  return statement;
}

StatementParser::Made StatementParser::ParseFor() {
  Made statement = Make(Verb::kFor);
  Take();
  statement->target = ParseTarget(false, "in");
  if (!SkipName("in")) Unexpected("'in'");
  statement->value = ParseTuple(Conditionals::kNo, "recursive");
  if (SkipName("if")) statement->condition = ParseExpression();
  statement->recursive = SkipName("recursive");
  ++loops_;
  statement->body = ParseBlock({"else", "endfor"});
  --loops_;
  if (Take().text == "else") {
    statement->otherwise = ParseBlock({"endfor"});
    Take();
  }
  return statement;
}

StatementParser::Made StatementParser::ParseSet() {
  Made statement = Make(Verb::kSet);
  Take();
  statement->target = ParseTarget(true);
  if (SkipOperator("=")) {
    statement->value = ParseTuple(Conditionals::kYes);
    return statement;
  }
  statement->verb = Verb::kSetBlock;
  statement->value = ParseFilters(nullptr, false);
  statement->body = ParseBlock({"endset"});
  Take();
  return statement;
}

void StatementParser::ParseParameters(MacroNode& macro) {
  ExpectOperator("(");
  while (!Current().IsOperator(")")) {
    MacroNode::Parameter parameter;
    parameter.spelled = Current().text;
    parameter.name = ParseName().name;
    if (SkipOperator("=")) {
      parameter.fallback = ParseExpression();
    } else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr) {
      Stop(Current().line, "a parameter without a default follows one with a default");
    }
    macro.parameters.push_back(std::move(parameter));
    if (!SkipOperator(",")) break;
  }
  ExpectOperator(")");
}

void StatementParser::ParseMacroBody(MacroNode& macro, std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  uses_.emplace_back();
  macro.body = ParseBlock({end});
  Take();
  const Uses uses = uses_.back();
  uses_.pop_back();
  loops_ = loops;
  macro.caller = Intern("caller");
  macro.varargs = Intern("varargs");
  macro.kwargs = Intern("kwargs");
  macro.uses_caller = uses.caller;
  macro.uses_varargs = uses.varargs;
  macro.uses_kwargs = uses.kwargs;
  for (const MacroNode::Parameter& parameter : macro.parameters) {
    if (parameter.spelled == "varargs") macro.uses_varargs = false;
    if (parameter.spelled == "kwargs") macro.uses_kwargs = false;
    if (parameter.spelled != "caller") continue;
    if (macro.uses_caller && parameter.fallback == nullptr) {
      Stop(Current().line, "the parameter 'caller' must have a default");
    }
    macro.uses_caller = false;
  }
}

StatementParser::Made StatementParser::ParseMacro() {
  Made statement = Make(Verb::kMacro);
  Take();
  statement->macro.name = Current().text;
  statement->name = ParseName().name;
  ParseParameters(statement->macro);
  ParseMacroBody(statement->macro, "endmacro");
  return statement;
}

StatementParser::Made StatementParser::ParseCallBlock() {
  Made statement = Make(Verb::kCall);
  Take();
  if (Current().IsOperator("(")) ParseParameters(statement->macro);
  statement->value = ParseExpression();
  if (statement->value->op != Op::kCall) Stop(statement->line, "expected a call");
  statement->macro.name = "caller";
  ParseMacroBody(statement->macro, "endcall");
  return statement;
}

StatementParser::Made StatementParser::ParseFilterBlock() {
  Made statement = Make(Verb::kFilter);
  Take();
  statement->value = ParseFilters(nullptr, true);
  statement->body = ParseBlock({"endfilter"});
  Take();
  return statement;
}

StatementParser::Made StatementParser::ParseWith() {
  Made statement = Make(Verb::kWith);
  Take();
  while (Current().kind != TokenKind::kBlockEnd) {
    if (!statement->with.empty()) ExpectOperator(",");
    Target target = ParseTarget(false);
    ExpectOperator("=");
    statement->with.emplace_back(std::move(target), ParseExpression());
  }
  statement->body = ParseBlock({"endwith"});
  Take();
  return statement;
}

// {% generation %} marks what the assistant wrote, for training.
StatementParser::Made StatementParser::ParseGeneration() {
  Made statement = Make(Verb::kScope);
  Take();
  const int loops = std::exchange(loops_, 0);
  statement->body = ParseBlock({"endgeneration"});
  loops_ = loops;
  Take();
  return statement;
}

StatementParser::Made StatementParser::ParseLoopControl(Verb verb) {
  Made statement = Make(verb);
  const Token tag = Take();
  if (loops_ == 0) Stop(tag.line, absl::StrCat("'", tag.text, "' outside of a loop"));
  return statement;
}

}  // namespace

Template ParseTemplate(std::string_view text) {
  if (text.size() > kMaxTemplateBytes) {
    Fail(absl::StrCat("it has more than ", kMaxTemplateBytes, " bytes"));
  }
  if (FirstInvalidUtf8(text) != std::string_view::npos) {
    Fail(absl::StrCat("it is not UTF-8 at byte ", FirstInvalidUtf8(text)));
  }
  return StatementParser(Tokenize(text)).Parse();
}

}  // namespace banyan::text::jinja
