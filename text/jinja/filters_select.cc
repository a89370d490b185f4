// Filters that apply filters and tests to each item, or look at one value.
#include <array>
#include <utility>

#include "base/quote.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/compare.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/iterate.h"
#include "text/jinja/methods.h"

namespace banyan::text::jinja {
namespace {

// What is false, or gives nothing, has no items.
std::optional<Iterator> ItemsOf(const Value& value) {
  if (!Truth(value)) return std::nullopt;
  return Iterator(value);
}

Arguments Without(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  for (std::size_t i = count; i < arguments.positional.size(); ++i) {
    rest.positional.push_back(arguments.positional[i]);
  }
  rest.named = arguments.named;
  return rest;
}

Value MapAttribute(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [attribute, fallback] = arguments.Bind<2>("map", {"attribute", "default"});
  const AttributePath path(evaluator, attribute, fallback.Is(Kind::kNone) ? Value() : fallback);
  return evaluator.objects().NewGenerator(value,
                                          [path, items = ItemsOf(value)](Value& item) mutable {
                                            Value next;
                                            if (!items || !items->Next(next)) return false;
                                            item = path.Of(next);
                                            return true;
                                          });
}

Value Map(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  if (!Truth(value)) return evaluator.objects().NewGenerator(value, [](Value&) { return false; });
  if (arguments.positional.empty()) {
    for (const auto& [name, attribute] : arguments.named) {
      if (name.text() == "attribute") return MapAttribute(evaluator, value, arguments);
    }
    Fail("map requires a filter argument");
  }
  const Value name = arguments.positional[0];
  if (!name.IsString()) Fail("map requires the name of a filter");
  return evaluator.objects().NewGenerator(value, [&evaluator, name, rest = Without(arguments, 1),
                                                  items = ItemsOf(value)](Value& item) mutable {
    Value next;
    if (!items || !items->Next(next)) return false;
    item = evaluator.ApplyFilter(name.text(), next, rest);
    return true;
  });
}

// `by_attribute`: the first argument names what is looked at. `wanted`: what the test must say.
Value Filtered(Evaluator& evaluator, const Value& value, const Arguments& arguments,
               bool by_attribute, bool wanted) {
  if (!Truth(value)) return evaluator.objects().NewGenerator(value, [](Value&) { return false; });
  const std::size_t offset = by_attribute ? 1 : 0;
  if (arguments.positional.size() < offset) Fail("Missing parameter for attribute name");
  const AttributePath path(evaluator, by_attribute ? arguments.positional[0] : Value());
  Value test;
  if (arguments.positional.size() > offset) {
    test = arguments.positional[offset];
    if (!test.IsString()) Fail("the name of a test is needed");
  }
  return evaluator.objects().NewGenerator(
      value, [&evaluator, path, test, wanted, rest = Without(arguments, offset + 1),
              items = ItemsOf(value)](Value& item) mutable {
        Value next;
        while (items && items->Next(next)) {
          evaluator.budget().Step();
          const Value looked_at = path.Of(next);
          const bool holds =
              Given(test) ? evaluator.ApplyTest(test.text(), looked_at, rest) : Truth(looked_at);
          if (holds != wanted) continue;
          item = next;
          return true;
        }
        return false;
      });
}

Value Select(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Filtered(evaluator, value, arguments, false, true);
}
Value Reject(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Filtered(evaluator, value, arguments, false, false);
}
Value SelectAttr(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Filtered(evaluator, value, arguments, true, true);
}
Value RejectAttr(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Filtered(evaluator, value, arguments, true, false);
}

Value Default(Evaluator&, const Value& value, const Arguments& arguments) {
  const auto [fallback, boolean] = arguments.Bind<2>("default", {"default_value", "boolean"});
  const bool wanting = value.Is(Kind::kUndefined) || (Truth(boolean) && !Truth(value));
  if (!wanting) return value;
  return Given(fallback) ? fallback : Value::Static("");
}

Value Attr(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [name] = arguments.Bind<1>("attr", {"name"}, 1);
  if (!name.IsString()) Fail("attr needs a name");
  // Items are not attributes.
  if (value.Is(Kind::kMapping) && MethodAccess(value, MethodNamed(name.text())) == Access::kNone) {
    return Value::Undefined(Absence::kAttribute, name.text(), value.kind(), name.object());
  }
  return evaluator.Attribute(value, name, MethodNamed(name.text()));
}

constexpr std::array<Filter, 8> kRows = {{
    {"map", Map},
    {"select", Select},
    {"reject", Reject},
    {"selectattr", SelectAttr},
    {"rejectattr", RejectAttr},
    {"default", Default},
    {"d", Default},
    {"attr", Attr},
}};

}  // namespace

std::span<const Filter> SelectFilters() { return kRows; }

}  // namespace banyan::text::jinja
