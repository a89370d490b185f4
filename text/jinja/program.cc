#include "text/jinja/program.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/functions.h"
#include "text/jinja/json.h"
#include "text/jinja/objects.h"
#include "text/jinja/parser.h"

namespace banyan::text::jinja {
namespace {

absl::string_view Key(std::string_view name) { return {name.data(), name.size()}; }

// One for each name of the template.
std::vector<Value> Bind(const Template& parsed, Objects& objects, const Variables& variables) {
  absl::flat_hash_map<absl::string_view, std::string_view> strings;
  for (const auto& [name, text] : variables.strings) strings[Key(name)] = text;
  absl::flat_hash_map<absl::string_view, const boost::json::value*> json;
  for (const auto& [name, value] : variables.json) json[Key(name)] = value;
  std::vector<Value> bound(parsed.names.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const absl::string_view name = Key(parsed.names[i]);
    if (const auto found = json.find(name); found != json.end()) {
      bound[i] = found->second == nullptr ? Value::None() : FromJson(objects, *found->second);
    } else if (const auto own = strings.find(name); own != strings.end()) {
      bound[i] = Value::Static(own->second);
    } else if (const auto function = FunctionNamed(parsed.names[i])) {
      bound[i] = Value::Function(*function);
    }
  }
  return bound;
}

}  // namespace

Program::Program(std::unique_ptr<const Template> parsed) : template_(std::move(parsed)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

absl::StatusOr<Program> Program::Parse(std::string_view text) {
  try {
    return Program(std::make_unique<const Template>(ParseTemplate(text)));
  } catch (const Error& error) {
    return error.ParseStatus();
  }
}

absl::StatusOr<std::vector<Piece>> Program::Render(const Variables& variables) const {
  Budget budget;
  Objects objects(budget);
  try {
    return Evaluator(*template_, objects, Bind(*template_, objects, variables), variables.now)
        .Render();
  } catch (const Error& error) {
    return error.RenderStatus();
  }
}

}  // namespace banyan::text::jinja
