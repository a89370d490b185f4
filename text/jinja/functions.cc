#include "text/jinja/functions.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/iterate.h"
#include "text/jinja/mappings.h"
#include "text/jinja/strftime.h"

namespace banyan::text::jinja {
namespace {

Value CallRange(Evaluator& evaluator, const Arguments& arguments) {
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) {
    Fail("range expected 1 to 3 arguments");
  }
  std::array<std::int64_t, 3> numbers = {0, 0, 1};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].Is(Kind::kUndefined)) FailUndefined(given[i]);
    if (!given[i].IsIntegral()) {
      Fail(absl::StrCat("'", std::string(TypeName(given[i])),
                        "' object cannot be interpreted as an integer"));
    }
    numbers[given.size() == 1 ? 1 : i] = given[i].integer();
  }
  return evaluator.objects().Range(numbers[0], numbers[1], numbers[2]);
}

Value CallDict(Evaluator& evaluator, const Arguments& arguments) {
  return AsValue(MakeMapping(evaluator.objects(), arguments));
}

Value CallNamespace(Evaluator& evaluator, const Arguments& arguments) {
  const Ref<Mapping> members = MakeMapping(evaluator.objects(), arguments);
  const Ref<Namespace> made = evaluator.objects().NewNamespace();
  for (const auto& [key, value] : members->entries()) {
    if (key.IsString()) made->Set(key, value);
  }
  return Value::Of(Kind::kNamespace, made.get());
}

Value CallRaise(Evaluator& evaluator, const Arguments& arguments) {
  const auto [message] = arguments.Bind<1>("raise_exception", {"message"}, 1);
  throw Error(ErrorKind::kRaised, std::string(ToText(evaluator.budget(), message).text()));
}

Value CallStrftime(Evaluator& evaluator, const Arguments& arguments) {
  const auto [format] = arguments.Bind<1>("strftime_now", {"format"}, 1);
  if (!format.IsString()) Fail("strftime_now() needs a format");
  if (format.text().size() > kMaxTimeFormatBytes) {
    Fail(absl::StrCat("strftime_now: the format has more than ", kMaxTimeFormatBytes, " bytes"));
  }
  evaluator.budget().Step(format.text().size());
  Writer writer(evaluator.budget());
  ForEachRun(format, [&](std::string_view run, Source source) {
    writer.Write(FormatTime(run, evaluator.now()), source);
  });
  return writer.Finish();
}

struct Row {
  std::string_view name;
  Value (*call)(Evaluator&, const Arguments&);
};

constexpr std::array<Row, 5> kRows = {{
    {"range", CallRange},
    {"dict", CallDict},
    {"namespace", CallNamespace},
    {"raise_exception", CallRaise},
    {"strftime_now", CallStrftime},
}};

}  // namespace

std::optional<int> FunctionNamed(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

Value CallFunction(Evaluator& evaluator, int function, const Arguments& arguments) {
  return kRows[static_cast<std::size_t>(function)].call(evaluator, arguments);
}

}  // namespace banyan::text::jinja
