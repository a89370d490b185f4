// Statements other than loops and macros.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/iterate.h"

namespace banyan::text::jinja {

Evaluator::Evaluator(const Template& parsed, Objects& objects, std::vector<Value> variables,
                     std::int64_t now)
    : template_(parsed),
      objects_(objects),
      given_(std::move(variables)),
      now_(now),
      top_(parsed.names.size()) {}

std::vector<Piece> Evaluator::Render() {
  Writer writer(budget());
  output_ = &writer;
  Execute(template_.body);
  output_ = nullptr;
  return writer.Pieces();
}

Evaluator::Flow Evaluator::Execute(const Block& block) {
  const Level level(*this);
  for (const auto& statement : block) {
    budget().Step();
    const Flow flow = Execute(*statement);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::Execute(const Statement& statement) try {
  switch (statement.verb) {
    case Verb::kText:
      output_->Write(statement.text);
      return Flow::kNext;
    case Verb::kOutput:
      WriteText(*output_, Evaluate(*statement.value));
      return Flow::kNext;
    case Verb::kDo:
      Evaluate(*statement.value);
      return Flow::kNext;
    case Verb::kIf:
      return ExecuteIf(statement);
    case Verb::kFor:
      return ExecuteFor(statement);
    case Verb::kSet:
    case Verb::kSetBlock:
      return ExecuteSet(statement);
    case Verb::kMacro:
      AssignName(statement.name, NewMacro(statement.macro));
      return Flow::kNext;
    case Verb::kCall:
      ExecuteCall(statement);
      return Flow::kNext;
    case Verb::kFilter: {
      Value text;
      const Flow flow = ExecuteCaptured(statement.body, text);
      if (flow == Flow::kNext) WriteText(*output_, ThroughFilters(statement.value.get(), text));
      return flow;
    }
    case Verb::kWith:
      return ExecuteWith(statement);
    case Verb::kScope: {
      const ScopeHere scope(*this);
      return Execute(statement.body);
    }
    case Verb::kBreak:
      return Flow::kBreak;
    case Verb::kContinue:
      break;
  }
  return Flow::kContinue;
} catch (Error& error) {
  error.AtLine(statement.line);
  throw;
}

Evaluator::Flow Evaluator::ExecuteIf(const Statement& statement) {
  for (const Statement::Branch& branch : statement.branches) {
    if (branch.condition != nullptr && !Truth(Evaluate(*branch.condition))) continue;
    return Execute(branch.body);
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecuteWith(const Statement& statement) {
  std::vector<Value> values;
  for (const auto& [target, value] : statement.with) values.push_back(Evaluate(*value));
  const ScopeHere scope(*this);
  for (std::size_t i = 0; i < values.size(); ++i) Assign(statement.with[i].first, values[i]);
  return Execute(statement.body);
}

Evaluator::Flow Evaluator::ExecuteSet(const Statement& statement) {
  if (statement.verb == Verb::kSet) {
    Assign(statement.target, Evaluate(*statement.value));
    return Flow::kNext;
  }
  Value text;
  const Flow flow = ExecuteCaptured(statement.body, text);
  if (flow == Flow::kNext) Assign(statement.target, ThroughFilters(statement.value.get(), text));
  return flow;
}

Evaluator::Flow Evaluator::ExecuteCaptured(const Block& block, Value& text) {
  const ScopeHere scope(*this);
  Captured captured(*this);
  const Flow flow = Execute(block);
  text = captured.Finish();
  return flow;
}

// A chain of filters whose innermost has no operand: that is `value`.
Value Evaluator::ThroughFilters(const Expression* filters, const Value& value) {
  if (filters == nullptr) return value;
  const Level level(*this);
  const Expression* inner = filters->kids[0].get();
  return EvaluateFilter(*filters, ThroughFilters(inner, value));
}

void Evaluator::AssignName(NameId name, const Value& value) {
  if (scope_ == nullptr) {
    top_[name] = value;
    return;
  }
  budget().Step(1 + scope_->variables.size() / 16);
  for (auto& [known, old] : scope_->variables) {
    if (known != name) continue;
    old = value;
    return;
  }
  scope_->variables.emplace_back(name, value);
}

void Evaluator::Assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    const std::vector<Value> values = Collect(budget(), value);
    if (values.size() != target.parts.size()) {
      Fail(absl::StrCat(values.size() < target.parts.size() ? "not enough" : "too many",
                        " values to unpack (expected ", target.parts.size(), ")"));
    }
    for (std::size_t i = 0; i < values.size(); ++i) Assign(target.parts[i], values[i]);
    return;
  }
  if (target.attribute.empty()) return AssignName(target.name, value);
  const Value* space = Find(target.name);
  if (space == nullptr || !space->Is(Kind::kNamespace)) {
    Fail("cannot assign attribute on non-namespace object");
  }
  space->As<Namespace>().Set(Value::Static(target.attribute), value);
}

void Evaluator::ExecuteCall(const Statement& statement) {
  WriteText(*output_, EvaluateCall(*statement.value, NewMacro(statement.macro)));
}

std::unique_ptr<Scope> Evaluator::TakeScope(Scope* parent) {
  std::unique_ptr<Scope> scope;
  if (spare_.empty()) {
    scope = std::make_unique<Scope>();
  } else {
    scope = std::move(spare_.back());
    spare_.pop_back();
  }
  scope->parent = parent;
  return scope;
}

void Evaluator::LeaveScope(std::unique_ptr<Scope> scope) {
  if (scope->captured) {
    kept_.push_back(std::move(scope));
    return;
  }
  scope->variables.clear();
  spare_.push_back(std::move(scope));
}

}  // namespace banyan::text::jinja
