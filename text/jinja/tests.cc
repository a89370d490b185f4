#include "text/jinja/tests.h"

#include <array>

#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/iterate.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"

namespace banyan::text::jinja {
namespace {

template <Kind kind>
bool IsKind(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("the test");
  return value.Is(kind);
}

bool Defined(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("defined");
  return !value.Is(Kind::kUndefined);
}

bool Integer(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("integer");
  return value.Is(Kind::kInteger) || value.Is(Kind::kUnsigned);
}

bool Number(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("number");
  return value.IsNumber();
}

bool True(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("true");
  return value.Is(Kind::kBool) && value.integer() != 0;
}

bool False(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("false");
  return value.Is(Kind::kBool) && value.integer() == 0;
}

// Has a length and items by index or key.
bool IsSequence(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("sequence");
  if (value.Is(Kind::kSequence)) return value.As<Sequence>().flavor != Flavor::kView;
  return value.IsString() || value.Is(Kind::kMapping) || value.Is(Kind::kUndefined);
}

bool IsIterableTest(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("iterable");
  return IsIterable(value);
}

bool IsCallable(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("callable");
  return value.Is(Kind::kMacro) || value.Is(Kind::kMethod) || value.Is(Kind::kFunction) ||
         value.Is(Kind::kLoop) || value.Is(Kind::kUndefined);
}

bool IsEscaped(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("escaped");
  return value.is_markup();
}

bool IsLowerTest(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("lower");
  return AllInCase(evaluator.budget(), ToText(evaluator.budget(), value).text(), Casing::kLower);
}

bool IsUpperTest(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("upper");
  return AllInCase(evaluator.budget(), ToText(evaluator.budget(), value).text(), Casing::kUpper);
}

bool Odd(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("odd");
  return Equal(evaluator.budget(), Calculate(evaluator, Op::kModulo, value, Value::Integer(2)),
               Value::Integer(1));
}

bool Even(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("even");
  return Equal(evaluator.budget(), Calculate(evaluator, Op::kModulo, value, Value::Integer(2)),
               Value::Integer(0));
}

bool DivisibleBy(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [by] = arguments.Bind<1>("divisibleby", {"num"}, 1);
  return Equal(evaluator.budget(), Calculate(evaluator, Op::kModulo, value, by), Value::Integer(0));
}

template <Comparison comparison>
bool Compares(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [other] = arguments.Bind<1>("the comparison", {"b"}, 1);
  return Compare(evaluator.budget(), comparison, value, other);
}

bool In(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [container] = arguments.Bind<1>("in", {"seq"}, 1);
  return Contains(evaluator.budget(), container, value);
}

bool SameAs(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [other] = arguments.Bind<1>("sameas", {"other"}, 1);
  return Same(evaluator.budget(), value, other);
}

bool IsFilter(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("filter");
  return value.IsString() && FilterNamed(value.text()) != nullptr;
}

bool IsTest(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("test");
  return value.IsString() && TestNamed(value.text()) != nullptr;
}

constexpr std::array<Test, 39> kRows = {{
    {"defined", Defined},
    {"undefined", IsKind<Kind::kUndefined>},
    {"none", IsKind<Kind::kNone>},
    {"string", IsKind<Kind::kString>},
    {"boolean", IsKind<Kind::kBool>},
    {"float", IsKind<Kind::kFloat>},
    {"mapping", IsKind<Kind::kMapping>},
    {"integer", Integer},
    {"number", Number},
    {"true", True},
    {"false", False},
    {"sequence", IsSequence},
    {"iterable", IsIterableTest},
    {"callable", IsCallable},
    {"escaped", IsEscaped},
    {"lower", IsLowerTest},
    {"upper", IsUpperTest},
    {"odd", Odd},
    {"even", Even},
    {"divisibleby", DivisibleBy},
    {"in", In},
    {"sameas", SameAs},
    {"filter", IsFilter},
    {"test", IsTest},
    {"==", Compares<Comparison::kEqual>},
    {"eq", Compares<Comparison::kEqual>},
    {"equalto", Compares<Comparison::kEqual>},
    {"!=", Compares<Comparison::kNotEqual>},
    {"ne", Compares<Comparison::kNotEqual>},
    {">", Compares<Comparison::kGreater>},
    {"gt", Compares<Comparison::kGreater>},
    {"greaterthan", Compares<Comparison::kGreater>},
    {">=", Compares<Comparison::kGreaterEqual>},
    {"ge", Compares<Comparison::kGreaterEqual>},
    {"<", Compares<Comparison::kLess>},
    {"lt", Compares<Comparison::kLess>},
    {"lessthan", Compares<Comparison::kLess>},
    {"<=", Compares<Comparison::kLessEqual>},
    {"le", Compares<Comparison::kLessEqual>},
}};

}  // namespace

const Test* TestNamed(std::string_view name) {
  for (const Test& test : kRows) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

}  // namespace banyan::text::jinja
