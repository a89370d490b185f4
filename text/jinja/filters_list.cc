// Filters of lists and mappings.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/iterate.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"
#include "text/jinja/subscript.h"

namespace banyan::text::jinja {
namespace {

Value Length(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("length");
  if (value.Is(Kind::kLoop)) return value.As<Loop>().Attribute("length");
  if (value.IsString()) evaluator.budget().Touch(value.text().size());
  if (IsIterable(value)) {
    const auto count = Iterator(value).Count();
    if (count) return Value::Integer(static_cast<std::int64_t>(*count));
  }
  Fail(absl::StrCat("object of type '", std::string(TypeName(value)), "' has no len()"));
}

Value ListFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("list");
  return evaluator.objects().List(Collect(evaluator.budget(), value));
}

Value Items(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("items");
  // What is wrong shows when somebody asks for the first.
  return evaluator.objects().NewGenerator(
      value, [&evaluator, value, at = std::size_t{0}](Value& item) mutable {
        if (value.Is(Kind::kUndefined)) return false;
        if (!value.Is(Kind::kMapping)) Fail("Can only get item pairs from a mapping.");
        const auto& entries = value.As<Mapping>().entries();
        if (at == entries.size()) return false;
        item = evaluator.objects().Tuple({entries[at].first, entries[at].second});
        ++at;
        return true;
      });
}

Value First(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("first");
  Value item;
  if (Iterator(value).Next(item)) return item;
  return Value::Undefined(Absence::kEmpty, "No first item, sequence was empty.");
}

// Goes through a list, a string, a mapping or nothing, from the end.
std::vector<Value> Reversed(Budget& budget, const Value& value) {
  if (value.Is(Kind::kGenerator)) Fail("'generator' object is not reversible");
  std::vector<Value> items = Collect(budget, value);
  std::reverse(items.begin(), items.end());
  return items;
}

Value Last(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("last");
  if (value.Is(Kind::kSequence) && !value.As<Sequence>().items.empty()) {
    return value.As<Sequence>().items.back();
  }
  const std::vector<Value> items = Reversed(evaluator.budget(), value);
  if (!items.empty()) return items.front();
  return Value::Undefined(Absence::kEmpty, "No last item, sequence was empty.");
}

Value FromVector(Evaluator& evaluator, std::vector<Value> items) {
  const Value list = evaluator.objects().List(std::move(items));
  return evaluator.objects().NewGenerator(list, [list, at = std::size_t{0}](Value& item) mutable {
    const auto& all = list.As<Sequence>().items;
    if (at == all.size()) return false;
    item = all[at++];
    return true;
  });
}

Value Reverse(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("reverse");
  if (value.IsString()) {
    return Slice(evaluator.objects(), value, Value::None(), Value::None(), Value::Integer(-1));
  }
  if (!IsIterable(value)) Fail("argument must be iterable");
  if (value.Is(Kind::kGenerator)) {
    std::vector<Value> items = Collect(evaluator.budget(), value);
    std::reverse(items.begin(), items.end());
    return evaluator.objects().List(std::move(items));
  }
  return FromVector(evaluator, Reversed(evaluator.budget(), value));
}

Value IgnoringCase(Evaluator& evaluator, const Value& value, bool ignore) {
  return ignore && value.IsString() ? InCase(evaluator.budget(), value, Casing::kLower) : value;
}

struct Keyed {
  std::vector<Value> keys;
  Value item;
};

bool Before(Budget& budget, const Keyed& a, const Keyed& b) {
  for (std::size_t i = 0; i < a.keys.size(); ++i) {
    budget.Step();
    if (Equal(budget, a.keys[i], b.keys[i])) continue;
    return Order(budget, a.keys[i], b.keys[i]) < 0;
  }
  return false;
}

// Stable, also in reverse.
std::vector<Value> Sorted(Budget& budget, std::vector<Keyed> items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? Before(budget, b, a) : Before(budget, a, b);
  });
  std::vector<Value> sorted;
  for (Keyed& item : items) sorted.push_back(std::move(item.item));
  return sorted;
}

Value Sort(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [reverse, case_sensitive, attribute] =
      arguments.Bind<3>("sort", {"reverse", "case_sensitive", "attribute"});
  const AttributePaths paths(evaluator, attribute);
  const bool ignore = !Truth(case_sensitive);
  std::vector<Keyed> items;
  for (const Value& item : Collect(evaluator.budget(), value)) {
    Keyed keyed = {.keys = {}, .item = item};
    for (const AttributePath& path : paths.all()) {
      keyed.keys.push_back(IgnoringCase(evaluator, path.Of(item), ignore));
    }
    items.push_back(std::move(keyed));
  }
  return evaluator.objects().List(Sorted(evaluator.budget(), std::move(items), Truth(reverse)));
}

Value DictSort(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [case_sensitive, by, reverse] =
      arguments.Bind<3>("dictsort", {"case_sensitive", "by", "reverse"});
  const std::string_view part = by.IsString() ? by.text() : Given(by) ? "" : "key";
  if (part != "key" && part != "value") Fail("You can only sort by either \"key\" or \"value\"");
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (!value.Is(Kind::kMapping)) {
    Fail(absl::StrCat("'", std::string(TypeName(value)), "' object has no attribute 'items'"));
  }
  const bool ignore = !Truth(case_sensitive);
  std::vector<Keyed> items;
  for (const auto& [key, item] : value.As<Mapping>().entries()) {
    const Value sort_by = IgnoringCase(evaluator, part == "key" ? key : item, ignore);
    items.push_back({.keys = {sort_by}, .item = evaluator.objects().Tuple({key, item})});
  }
  return evaluator.objects().List(Sorted(evaluator.budget(), std::move(items), Truth(reverse)));
}

bool Seen(Budget& budget, const std::vector<Value>& seen, const Value& key) {
  budget.Step(1 + seen.size() / 4);
  return std::any_of(seen.begin(), seen.end(),
                     [&](const Value& old) { return Equal(budget, old, key); });
}

Value Unique(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [case_sensitive, attribute] =
      arguments.Bind<2>("unique", {"case_sensitive", "attribute"});
  const AttributePath path(evaluator, attribute);
  std::vector<Value> seen;
  std::vector<Value> items;
  for (const Value& item : Collect(evaluator.budget(), value)) {
    const Value key = IgnoringCase(evaluator, path.Of(item), !Truth(case_sensitive));
    CheckHashable(key);
    if (Seen(evaluator.budget(), seen, key)) continue;
    seen.push_back(key);
    items.push_back(item);
  }
  return FromVector(evaluator, std::move(items));
}

Value GroupBy(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [attribute, fallback, case_sensitive] =
      arguments.Bind<3>("groupby", {"attribute", "default", "case_sensitive"}, 1);
  const bool none = fallback.Is(Kind::kNone);
  const AttributePath path(evaluator, attribute, none ? Value() : fallback);
  const bool ignore = !Truth(case_sensitive);
  const auto key_of = [&](const Value& item) {
    return IgnoringCase(evaluator, path.Of(item), ignore);
  };
  std::vector<Keyed> keyed;
  for (const Value& item : Collect(evaluator.budget(), value)) {
    keyed.push_back({.keys = {key_of(item)}, .item = item});
  }
  const std::vector<Value> sorted = Sorted(evaluator.budget(), std::move(keyed), false);
  std::vector<Value> groups;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() &&
           Equal(evaluator.budget(), key_of(sorted[begin]), key_of(sorted[end])))
      ++end;
    std::vector<Value> members(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                               sorted.begin() + static_cast<std::ptrdiff_t>(end));
    groups.push_back(evaluator.objects().List(
        {path.Of(sorted[begin]), evaluator.objects().List(std::move(members))}, Flavor::kGroup));
    begin = end;
  }
  return evaluator.objects().List(std::move(groups));
}

std::size_t SmallCount(const Value& value, const char* what) {
  if (!value.IsIntegral() || value.integer() < 1 || value.integer() > kMaxRange) {
    Fail(absl::StrCat(what, " must be an integer from 1 to ", kMaxRange));
  }
  return static_cast<std::size_t>(value.integer());
}

Value Batch(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [count, fill] = arguments.Bind<2>("batch", {"linecount", "fill_with"}, 1);
  const std::size_t width = SmallCount(count, "linecount");
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : Collect(evaluator.budget(), value)) {
    batch.push_back(item);
    if (batch.size() < width) continue;
    batches.push_back(evaluator.objects().List(std::exchange(batch, {})));
  }
  if (!batch.empty()) {
    if (Given(fill) && !fill.Is(Kind::kNone)) batch.resize(width, fill);
    batches.push_back(evaluator.objects().List(std::move(batch)));
  }
  return FromVector(evaluator, std::move(batches));
}

Value SliceFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [slices, fill] = arguments.Bind<2>("slice", {"slices", "fill_with"}, 1);
  const std::size_t count = SmallCount(slices, "slices");
  const std::vector<Value> items = Collect(evaluator.budget(), value);
  const std::size_t each = items.size() / count;
  const std::size_t longer = items.size() % count;
  std::vector<Value> out;
  auto begin = items.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = begin + static_cast<std::ptrdiff_t>(each + (i < longer ? 1 : 0));
    std::vector<Value> slice(begin, end);
    if (i >= longer && Given(fill) && !fill.Is(Kind::kNone)) slice.push_back(fill);
    out.push_back(evaluator.objects().List(std::move(slice)));
    begin = end;
  }
  return FromVector(evaluator, std::move(out));
}

Value Extreme(Evaluator& evaluator, const Value& value, const Arguments& arguments, bool greatest) {
  const auto [case_sensitive, attribute] =
      arguments.Bind<2>(greatest ? "max" : "min", {"case_sensitive", "attribute"});
  const AttributePath path(evaluator, attribute);
  Value best, best_key, item;
  for (Iterator items(value); items.Next(item);) {
    evaluator.budget().Step();
    const Value key = IgnoringCase(evaluator, path.Of(item), !Truth(case_sensitive));
    const bool better =
        !Given(best) || (greatest ? Order(evaluator.budget(), key, best_key, ">") > 0
                                  : Order(evaluator.budget(), key, best_key) < 0);
    if (!better) continue;
    best = item;
    best_key = key;
  }
  if (Given(best)) return best;
  return Value::Undefined(Absence::kEmpty, "No aggregated item, sequence was empty.");
}

Value Min(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Extreme(evaluator, value, arguments, false);
}

Value Max(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return Extreme(evaluator, value, arguments, true);
}

Value Sum(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [attribute, start] = arguments.Bind<2>("sum", {"attribute", "start"});
  const AttributePath path(evaluator, attribute);
  Value total = Given(start) ? start : Value::Integer(0);
  if (total.IsString()) Fail("sum() can't sum strings");
  Value item;
  for (Iterator items(value); items.Next(item);) {
    evaluator.budget().Step();
    total = Add(evaluator.objects(), total, path.Of(item));
  }
  return total;
}

constexpr std::array<Filter, 16> kRows = {{
    {"length", Length},
    {"count", Length},
    {"list", ListFilter},
    {"items", Items},
    {"first", First},
    {"last", Last},
    {"reverse", Reverse},
    {"sort", Sort},
    {"dictsort", DictSort},
    {"unique", Unique},
    {"groupby", GroupBy},
    {"batch", Batch},
    {"slice", SliceFilter},
    {"min", Min},
    {"max", Max},
    {"sum", Sum},
}};

}  // namespace

std::span<const Filter> ListFilters() { return kRows; }

}  // namespace banyan::text::jinja
