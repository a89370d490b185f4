// A parsed template. Immutable once made; evaluation points into it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/methods.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

// Names of variables are numbers: indices into Template::names.
using NameId = std::uint32_t;

enum class Op : std::uint8_t {
  kString,   // text
  kInteger,  // integer
  kFloat,    // number
  kBool,     // integer
  kNone,
  kName,     // name
  kList,     // kids
  kTuple,    // kids
  kMapping,  // kids: key, value, key, value, ...
  kNot,
  kNegative,
  kPositive,
  kAnd,
  kOr,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcatenate,  // kids, all of them as strings
  kCompare,      // kids; comparisons[i] stands between kids i and i + 1
  kConditional,  // kids: then, condition, else (may be null)
  kAttribute,    // kids[0].text
  kItem,         // kids[0][kids[1]]
  kSlice,        // kids[0][kids[1]:kids[2]:kids[3]], each but the first may be null
  kCall,         // kids[0](arguments)
  kFilter,       // kids[0]|text(arguments); kids[0] is null at the front of a filter block
  kTest,         // kids[0] is text(arguments)
};

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Filter;  // filters.h
struct Test;    // tests.h

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional;  // *expression
  ExpressionPtr more_named;       // **expression
};

struct Expression {
  Op op = Op::kNone;
  int line = 0;
  int depth = 1;  // of this tree
  NameId name = 0;
  MethodId method = MethodId::kNone;  // that kAttribute's text names
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<ExpressionPtr> kids;
  std::vector<Comparison> comparisons;
  CallArguments arguments;
  const Filter* filter = nullptr;  // null: unknown, an error once it is reached
  const Test* test = nullptr;
};

// What is assigned to: a name, an attribute of a namespace, or a tuple of these.
struct Target {
  int line = 0;
  NameId name = 0;
  std::string attribute{};  // empty: the name itself
  bool is_tuple = false;
  std::vector<Target> parts{};  // of a tuple
};

struct Statement;
using Block = std::vector<std::unique_ptr<const Statement>>;

// A macro, or what a call block passes as `caller`.
struct MacroNode {
  struct Parameter {
    NameId name = 0;
    std::string spelled;
    ExpressionPtr fallback;  // null: none
  };
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  NameId caller = 0, varargs = 0, kwargs = 0;
  // Whether its body names them.
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

enum class Verb : std::uint8_t {
  kText,      // text
  kOutput,    // value
  kDo,        // value, for what it does
  kIf,        // branches
  kFor,       // target, value, condition, body, otherwise
  kSet,       // target = value
  kSetBlock,  // target = body, through value if there is one
  kMacro,     // macro, as name
  kCall,      // value, a call, with macro as its caller
  kFilter,    // body through value
  kWith,      // body, with the variables of `with`
  kScope,     // body, with its own variables
  kBreak,
  kContinue,
};

struct Statement {
  struct Branch {
    ExpressionPtr condition;  // null: else
    Block body;
  };

  Verb verb = Verb::kText;
  int line = 0;
  NameId name = 0;
  bool recursive = false;
  std::string text;
  ExpressionPtr value;
  ExpressionPtr condition;
  Target target;
  std::vector<std::pair<Target, ExpressionPtr>> with;
  std::vector<Branch> branches;
  Block body;
  Block otherwise;
  MacroNode macro;
};

struct Template {
  std::vector<std::string> names;
  Block body;
  NameId loop = 0, caller = 0;
};

}  // namespace banyan::text::jinja
