// Expressions.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/functions.h"
#include "text/jinja/iterate.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/subscript.h"
#include "text/jinja/tests.h"

namespace banyan::text::jinja {

void Evaluator::Enter() {
  if (++depth_ <= kMaxDepth) return;
  --depth_;
  throw Error(ErrorKind::kTooMuch, absl::StrCat("it goes more than ", kMaxDepth, " levels deep"));
}

Value Evaluator::Evaluate(const Expression& expression) {
  budget().Step();
  switch (expression.op) {
    case Op::kString:
      return Value::Static(expression.text);
    case Op::kInteger:
      return Value::Integer(expression.integer);
    case Op::kFloat:
      return Value::Float(expression.number);
    case Op::kBool:
      return Value::Bool(expression.integer != 0);
    case Op::kNone:
      return Value::None();
    case Op::kName:
      return EvaluateName(expression);
    default:
      break;
  }
  const Level level(*this);
  try {
    return EvaluateCompound(expression);
  } catch (Error& error) {
    error.AtLine(expression.line);
    throw;
  }
}

Value Evaluator::EvaluateCompound(const Expression& expression) {
  const auto& kids = expression.kids;
  switch (expression.op) {
    case Op::kList:
      return objects_.List(EvaluateAll(kids));
    case Op::kTuple:
      return objects_.List(EvaluateAll(kids), Flavor::kTuple);
    case Op::kMapping:
      return EvaluateMapping(expression);
    case Op::kNot:
      return Value::Bool(!Truth(Evaluate(*kids[0])));
    case Op::kNegative:
      return Negative(Evaluate(*kids[0]));
    case Op::kPositive:
      return Positive(Evaluate(*kids[0]));
    case Op::kAnd: {
      Value left = Evaluate(*kids[0]);
      return Truth(left) ? Evaluate(*kids[1]) : left;
    }
    case Op::kOr: {
      Value left = Evaluate(*kids[0]);
      return Truth(left) ? left : Evaluate(*kids[1]);
    }
    case Op::kConcatenate:
      return EvaluateConcatenation(expression);
    case Op::kCompare:
      return Value::Bool(EvaluateComparison(expression));
    case Op::kConditional:
      if (Truth(Evaluate(*kids[1]))) return Evaluate(*kids[0]);
      return kids[2] == nullptr ? Value::Undefined(Absence::kNoElse) : Evaluate(*kids[2]);
    case Op::kAttribute:
      return LookUpAttribute(objects_, Evaluate(*kids[0]), Value::Static(expression.text),
                             expression.method);
    case Op::kItem: {
      const Value value = Evaluate(*kids[0]);
      return LookUpItem(objects_, value, Evaluate(*kids[1]));
    }
    case Op::kSlice:
      return EvaluateSlice(expression);
    case Op::kCall:
      return EvaluateCall(expression, Value());
    case Op::kFilter:
      return EvaluateFilter(expression, Evaluate(*kids[0]));
    case Op::kTest:
      return EvaluateTest(expression);
    default: {
      const Value left = Evaluate(*kids[0]);
      return Calculate(*this, expression.op, left, Evaluate(*kids[1]));
    }
  }
}

Value Evaluator::EvaluateName(const Expression& expression) {
  const Value* found = Find(expression.name);
  if (found != nullptr) return *found;
  return Value::Undefined(Absence::kName, template_.names[expression.name]);
}

const Value* Evaluator::Find(NameId name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    objects_.budget().Step(scope->variables.size() / 16);
    for (const auto& [known, value] : scope->variables) {
      if (known == name) return &value;
    }
  }
  if (Given(top_[name])) return &top_[name];
  return Given(given_[name]) ? &given_[name] : nullptr;
}

Value Evaluator::Attribute(const Value& value, const Value& name, MethodId method) {
  return LookUpAttribute(objects_, value, name, method);
}

Value Evaluator::Item(const Value& value, const Value& key) {
  return LookUpItem(objects_, value, key);
}

std::vector<Value> Evaluator::EvaluateAll(const std::vector<ExpressionPtr>& expressions) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) values.push_back(Evaluate(*expression));
  return values;
}

Value Evaluator::EvaluateMapping(const Expression& expression) {
  const Ref<Mapping> mapping = objects_.NewMapping();
  for (std::size_t i = 0; i < expression.kids.size(); i += 2) {
    const Value key = Evaluate(*expression.kids[i]);
    CheckHashable(key);
    mapping->Set(key, Evaluate(*expression.kids[i + 1]));
  }
  return AsValue(mapping);
}

Value Evaluator::EvaluateSlice(const Expression& expression) {
  const auto& kids = expression.kids;
  const auto bound = [&](std::size_t i) {
    return kids[i] == nullptr ? Value::None() : Evaluate(*kids[i]);
  };
  const Value value = Evaluate(*kids[0]);
  const Value start = bound(1);
  const Value stop = bound(2);
  return Slice(objects_, value, start, stop, bound(3));
}

Value Evaluator::EvaluateConcatenation(const Expression& expression) {
  Writer writer(budget());
  for (const ExpressionPtr& kid : expression.kids) WriteText(writer, Evaluate(*kid));
  return writer.Finish();
}

bool Evaluator::EvaluateComparison(const Expression& expression) {
  Value left = Evaluate(*expression.kids[0]);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = Evaluate(*expression.kids[i + 1]);
    if (!Compare(budget(), expression.comparisons[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::EvaluateFilter(const Expression& expression, const Value& value) {
  if (expression.filter == nullptr) {
    Fail(absl::StrCat("no filter named ", Quote(expression.text)));
  }
  return expression.filter->apply(*this, value, EvaluateArguments(expression.arguments));
}

Value Evaluator::EvaluateTest(const Expression& expression) {
  if (expression.test == nullptr) Fail(absl::StrCat("no test named ", Quote(expression.text)));
  const Value value = Evaluate(*expression.kids[0]);
  return Value::Bool(expression.test->holds(*this, value, EvaluateArguments(expression.arguments)));
}

Value Evaluator::ApplyFilter(std::string_view name, const Value& value,
                             const Arguments& arguments) {
  const Level level(*this);
  budget().Step();
  const Filter* filter = FilterNamed(name);
  if (filter == nullptr) Fail(absl::StrCat("no filter named ", Quote(name)));
  return filter->apply(*this, value, arguments);
}

bool Evaluator::ApplyTest(std::string_view name, const Value& value, const Arguments& arguments) {
  budget().Step();
  const Test* test = TestNamed(name);
  if (test == nullptr) Fail(absl::StrCat("no test named ", Quote(name)));
  return test->holds(*this, value, arguments);
}

Arguments Evaluator::EvaluateArguments(const CallArguments& given) {
  Arguments arguments;
  for (const ExpressionPtr& value : given.positional) {
    arguments.positional.push_back(Evaluate(*value));
  }
  if (given.more_positional != nullptr) {
    for (Value& value : Collect(budget(), Evaluate(*given.more_positional))) {
      arguments.positional.push_back(std::move(value));
    }
  }
  for (const auto& [name, value] : given.named) {
    arguments.named.emplace_back(Value::Static(name), Evaluate(*value));
  }
  if (given.more_named == nullptr) return arguments;
  const Value more = Evaluate(*given.more_named);
  if (!more.Is(Kind::kMapping)) Fail("argument after ** must be a mapping");
  budget().Step(more.As<Mapping>().entries().size() * (1 + given.named.size()));
  for (const auto& [key, value] : more.As<Mapping>().entries()) {
    if (!key.IsString()) Fail("keywords must be strings");
    for (const auto& named : given.named) {
      if (named.first == key.text()) {
        Fail(absl::StrCat("got multiple values for keyword argument ", Quote(key.text())));
      }
    }
    arguments.named.emplace_back(key, value);
  }
  return arguments;
}

// `caller`: what a call block passes besides; or kMissing.
Value Evaluator::EvaluateCall(const Expression& call, const Value& caller) {
  const Expression& callee = *call.kids[0];
  Value function;
  // A method is called without making a value of it first.
  if (callee.op == Op::kAttribute && callee.method != MethodId::kNone) {
    const Value self = Evaluate(*callee.kids[0]);
    if (!self.Is(Kind::kLoop) && MethodAccess(self, callee.method) == Access::kAllowed) {
      return CallMethod(*this, self, callee.method, EvaluateArguments(call.arguments));
    }
    function = LookUpAttribute(objects_, self, Value::Static(callee.text), callee.method);
  } else {
    function = Evaluate(callee);
  }
  Arguments arguments = EvaluateArguments(call.arguments);
  if (Given(caller)) arguments.named.emplace_back(Value::Static("caller"), caller);
  return Call(function, arguments);
}

Value Evaluator::Call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind()) {
    case Kind::kMacro:
      return CallMacro(callee.As<Macro>(), arguments);
    case Kind::kLoop:
      return CallLoop(callee, arguments);
    case Kind::kMethod: {
      const Method& method = callee.As<Method>();
      return CallMethod(*this, method.self, static_cast<MethodId>(method.method), arguments);
    }
    case Kind::kFunction:
      return CallFunction(*this, static_cast<int>(callee.integer()), arguments);
    case Kind::kUndefined:
      FailUndefined(callee);
    default:
      Fail(absl::StrCat("'", std::string(TypeName(callee)), "' object is not callable"));
  }
}

}  // namespace banyan::text::jinja
