#include "text/jinja/arguments.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/error.h"

namespace banyan::text::jinja {

void Arguments::BindTo(std::string_view function, const std::string_view* parameters, Value* bound,
                       std::size_t count, std::size_t required) const {
  const std::string name(function);
  if (positional.size() > count) {
    Fail(absl::StrCat(name, "() takes at most ", count, " arguments (", positional.size(),
                      " given)"));
  }
  for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = positional[i];
  for (const auto& [key, value] : named) {
    std::size_t i = 0;
    while (i < count && parameters[i] != key.text()) ++i;
    if (i == count) {
      Fail(absl::StrCat(name, "() got an unexpected keyword argument ", Quote(key.text())));
    }
    if (Given(bound[i])) {
      Fail(absl::StrCat(name, "() got multiple values for argument ", Quote(key.text())));
    }
    bound[i] = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (Given(bound[i])) continue;
    Fail(absl::StrCat(name, "() misses the argument ", Quote(parameters[i])));
  }
}

void Arguments::ExpectNone(std::string_view function) const {
  if (positional.empty() && named.empty()) return;
  Fail(absl::StrCat(std::string(function), "() takes no arguments"));
}

}  // namespace banyan::text::jinja
