#include "text/jinja/mappings.h"

#include "text/jinja/error.h"
#include "text/jinja/iterate.h"

namespace banyan::text::jinja {

void AddAll(Mapping& to, const Mapping& from) {
  for (const auto& [key, value] : from.entries()) {
    from.budget().Step();
    to.Set(key, value);
  }
}

Ref<Mapping> MakeMapping(Objects& objects, const Arguments& arguments) {
  Budget& budget = objects.budget();
  Ref<Mapping> made = objects.NewMapping();
  if (arguments.positional.size() > 1) Fail("dict expected at most 1 argument");
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.Is(Kind::kMapping)) {
      AddAll(*made, from.As<Mapping>());
    } else {
      Iterator pairs(from);
      Value pair;
      while (pairs.Next(pair)) {
        budget.Step();
        const std::vector<Value> parts = Collect(budget, pair);
        if (parts.size() != 2) Fail("dictionary update sequence needs pairs");
        CheckHashable(parts[0]);
        made->Set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [key, value] : arguments.named) made->Set(key, value);
  return made;
}

}  // namespace banyan::text::jinja
