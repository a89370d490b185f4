// For loops.
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/compare.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/loop.h"

namespace banyan::text::jinja {
namespace {

// The loop goes no further, however it is left.
class Ending {
 public:
  explicit Ending(Loop& loop) : loop_(loop) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { loop_.End(); }

 private:
  Loop& loop_;
};

}  // namespace

Evaluator::Flow Evaluator::ExecuteFor(const Statement& statement) {
  const Value iterable = Evaluate(*statement.value);
  if (!statement.recursive) return RunLoop(statement, iterable, 0);
  // A loop that calls itself gives text, and cannot end one around it.
  Value text;
  {
    Captured captured(*this);
    RunLoop(statement, iterable, 0);
    text = captured.Finish();
  }
  output_->Write(text);
  return Flow::kNext;
}

Evaluator::Flow Evaluator::RunLoop(const Statement& statement, const Value& iterable,
                                   int recursion) {
  Scope* const outer = scope_;
  Loop::Condition condition;
  if (statement.condition != nullptr) {
    condition = [this, &statement, outer](const Value& item) {
      const ScopeHere scope(*this, outer);
      Assign(statement.target, item);
      return Truth(Evaluate(*statement.condition));
    };
  }
  const int depth = 1 + DepthOf(iterable);
  if (depth > kMaxValueDepth) {
    throw Error(ErrorKind::kTooMuch,
                absl::StrCat("it nests values more than ", kMaxValueDepth, " deep"));
  }
  budget().Hold(sizeof(Loop));
  const Value loop =
      Value::Of(Kind::kLoop, new Loop(budget(), sizeof(Loop), iterable, std::move(condition),
                                      &statement, recursion, depth));
  const Ending ending(loop.As<Loop>());
  bool any = false;
  Value item;
  while (loop.As<Loop>().Next(item)) {
    any = true;
    budget().Step();
    const ScopeHere scope(*this, outer);
    AssignName(template_.loop, loop);
    Assign(statement.target, item);
    if (Execute(statement.body) == Flow::kBreak) break;
  }
  if (any || statement.otherwise.empty()) return Flow::kNext;
  const ScopeHere scope(*this, outer);
  return Execute(statement.otherwise);
}

Value Evaluator::CallLoop(const Value& loop, const Arguments& arguments) {
  const Statement* statement = loop.As<Loop>().statement;
  if (!statement->recursive) {
    Fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  const auto [iterable] = arguments.Bind<1>("loop", {"iterable"}, 1);
  const Level level(*this);
  Captured captured(*this);
  RunLoop(*statement, iterable, loop.As<Loop>().recursion + 1);
  return captured.Finish();
}

}  // namespace banyan::text::jinja
