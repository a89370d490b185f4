// One rendering of a template: walks it, within the bounds of limits.h. Throws Error.
//
// Variables live in scopes that nest as the template's blocks do. A macro sees the scopes around
// its definition, so a scope in which one was defined lives until the rendering ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/arguments.h"
#include "text/jinja/ast.h"
#include "text/jinja/objects.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

struct Scope {
  Scope* parent = nullptr;  // null: the template itself
  bool captured = false;    // a macro was defined in it or within
  std::vector<std::pair<NameId, Value>> variables;
};

class Evaluator {
 public:
  // `variables[i]` is what names[i] stands for before anything is set; kMissing: nothing.
  Evaluator(const Template& parsed, Objects& objects, std::vector<Value> variables,
            std::int64_t now);

  std::vector<Piece> Render();

  Objects& objects() { return objects_; }
  Budget& budget() { return objects_.budget(); }
  std::int64_t now() const { return now_; }

  // What filters and methods call back.
  Value Call(const Value& callee, const Arguments& arguments);
  Value Attribute(const Value& value, const Value& name, MethodId method);  // value.name
  Value Item(const Value& value, const Value& key);                         // value[key]
  Value ApplyFilter(std::string_view name, const Value& value, const Arguments& arguments);
  bool ApplyTest(std::string_view name, const Value& value, const Arguments& arguments);

  // One level more, as long as it lives.
  class Level {
   public:
    explicit Level(Evaluator& evaluator) : evaluator_(evaluator) { evaluator_.Enter(); }
    ~Level() { --evaluator_.depth_; }

   private:
    Evaluator& evaluator_;
  };

 private:
  friend class ScopeHere;
  friend class Captured;
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

  void Enter();

  // evaluate_expressions.cc
  Value Evaluate(const Expression& expression);
  Value EvaluateCompound(const Expression& expression);
  Value EvaluateName(const Expression& expression);
  Value EvaluateSlice(const Expression& expression);
  Value EvaluateConcatenation(const Expression& expression);
  Value EvaluateMapping(const Expression& expression);
  std::vector<Value> EvaluateAll(const std::vector<ExpressionPtr>& expressions);
  bool EvaluateComparison(const Expression& expression);
  Value EvaluateFilter(const Expression& expression, const Value& value);
  Value EvaluateTest(const Expression& expression);
  Value EvaluateCall(const Expression& call, const Value& caller);
  Arguments EvaluateArguments(const CallArguments& arguments);

  // evaluate_statements.cc
  Flow Execute(const Block& block);
  Flow Execute(const Statement& statement);
  Flow ExecuteIf(const Statement& statement);
  Flow ExecuteScoped(const Block& block);
  Flow ExecuteSet(const Statement& statement);
  Flow ExecuteWith(const Statement& statement);
  void ExecuteCall(const Statement& statement);
  Flow ExecuteCaptured(const Block& block, Value& text);  // in a scope of its own
  Value ThroughFilters(const Expression* filters, const Value& value);
  void Assign(const Target& target, const Value& value);
  void AssignName(NameId name, const Value& value);

  // evaluate_loops.cc
  Flow ExecuteFor(const Statement& statement);
  Flow RunLoop(const Statement& statement, const Value& iterable, int recursion);
  Value CallLoop(const Value& loop, const Arguments& arguments);

  // evaluate_macros.cc
  Value NewMacro(const MacroNode& node);
  Value CallMacro(const Macro& macro, const Arguments& arguments);
  void BindParameters(const Macro& macro, const Arguments& arguments, Scope& scope);

  const Value* Find(NameId name) const;
  std::unique_ptr<Scope> TakeScope(Scope* parent);
  void LeaveScope(std::unique_ptr<Scope> scope);

  const Template& template_;
  Objects& objects_;
  const std::vector<Value> given_;
  const std::int64_t now_;
  std::vector<Value> top_;  // variables of the template itself, by name
  Scope* scope_ = nullptr;  // the innermost; null: the template itself
  Writer* output_ = nullptr;
  int depth_ = 0;
  std::vector<std::unique_ptr<Scope>> kept_;   // captured, and left
  std::vector<std::unique_ptr<Scope>> spare_;  // to be used again
};

// The innermost scope, as long as it lives.
class ScopeHere {
 public:
  ScopeHere(Evaluator& evaluator, Scope* parent)
      : evaluator_(evaluator), outer_(evaluator.scope_), scope_(evaluator.TakeScope(parent)) {
    evaluator_.scope_ = scope_.get();
  }
  explicit ScopeHere(Evaluator& evaluator) : ScopeHere(evaluator, evaluator.scope_) {}
  ~ScopeHere() {
    evaluator_.scope_ = outer_;
    evaluator_.LeaveScope(std::move(scope_));
  }
  Scope& operator*() const { return *scope_; }

 private:
  Evaluator& evaluator_;
  Scope* outer_;
  std::unique_ptr<Scope> scope_;
};

// Output goes to a string, as long as it lives.
class Captured {
 public:
  explicit Captured(Evaluator& evaluator)
      : evaluator_(evaluator), writer_(evaluator.budget()), outer_(evaluator.output_) {
    evaluator_.output_ = &writer_;
  }
  ~Captured() { evaluator_.output_ = outer_; }
  Value Finish() { return writer_.Finish(); }

 private:
  Evaluator& evaluator_;
  Writer writer_;
  Writer* outer_;
};

}  // namespace banyan::text::jinja
