// Macros, and the bodies of call blocks, which are macros too.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"

namespace banyan::text::jinja {

Value Evaluator::NewMacro(const MacroNode& node) {
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
    // It stays until the end, with its variables.
    budget().Hold(sizeof(Scope));
  }
  budget().Hold(sizeof(Macro));
  return Value::Of(Kind::kMacro, new Macro(budget(), sizeof(Macro), node, scope_));
}

Value Evaluator::CallMacro(const Macro& macro, const Arguments& arguments) {
  const Level level(*this);
  const ScopeHere scope(*this, macro.scope);
  Captured captured(*this);
  BindParameters(macro, arguments, *scope);
  Execute(macro.node.body);
  return captured.Finish();
}

// As jinja2's Macro.__call__: by position, then by name; what is left over goes to varargs and
// kwargs where the body names them, and is an error where it does not.
void Evaluator::BindParameters(const Macro& macro, const Arguments& arguments, Scope& scope) {
  const MacroNode& node = macro.node;
  const std::size_t count = node.parameters.size();
  const std::size_t given = std::min(count, arguments.positional.size());
  std::vector<std::pair<Value, Value>> named(arguments.named.begin(), arguments.named.end());
  const auto take = [&](std::string_view name) {
    budget().Step(named.size() / 4);
    for (auto& [key, value] : named) {
      if (Given(value) && key.text() == name) return std::exchange(value, Value());
    }
    return Value();
  };
  std::vector<Value> values(arguments.positional.begin(),
                            arguments.positional.begin() + static_cast<std::ptrdiff_t>(given));
  for (std::size_t i = given; i < count; ++i) values.push_back(take(node.parameters[i].spelled));
  if (node.uses_caller) {
    const Value caller = take("caller");
    scope.variables.emplace_back(
        node.caller,
        Given(caller) ? caller : Value::Undefined(Absence::kEmpty, "no caller defined"));
  }
  std::erase_if(named, [](const auto& entry) { return !Given(entry.second); });
  if (node.uses_kwargs) {
    const Ref<Mapping> rest = objects_.NewMapping();
    for (const auto& [key, value] : named) rest->Set(key, value);
    scope.variables.emplace_back(node.kwargs, AsValue(rest));
  } else if (!named.empty()) {
    Fail(absl::StrCat("macro ", Quote(node.name), " takes no keyword argument ",
                      Quote(named[0].first.text())));
  }
  if (node.uses_varargs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(given),
                            arguments.positional.end());
    scope.variables.emplace_back(node.varargs, objects_.List(std::move(rest), Flavor::kTuple));
  } else if (arguments.positional.size() > count) {
    Fail(absl::StrCat("macro ", Quote(node.name), " takes not more than ", count, " argument(s)"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const MacroNode::Parameter& parameter = node.parameters[i];
    if (!Given(values[i])) {
      values[i] = parameter.fallback == nullptr
                      ? Value::Undefined(Absence::kParameter, parameter.spelled)
                      : Evaluate(*parameter.fallback);
    }
    AssignName(parameter.name, values[i]);
  }
}

}  // namespace banyan::text::jinja
