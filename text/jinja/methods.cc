#include "text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "text/jinja/compare.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/loop.h"
#include "text/jinja/mappings.h"
#include "text/jinja/string_methods.h"

namespace banyan::text::jinja {
namespace {

using Apply = Value (*)(Evaluator&, const Value&, const Arguments&);

const Mapping& AsMapping(const Value& self) { return self.As<Mapping>(); }

Value MappingItems(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("items");
  std::vector<Value> items;
  for (const auto& [key, value] : AsMapping(self).entries()) {
    items.push_back(evaluator.objects().Tuple({key, value}));
  }
  return evaluator.objects().View(std::move(items), "dict_items");
}

Value MappingKeys(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("keys");
  std::vector<Value> items;
  for (const auto& entry : AsMapping(self).entries()) items.push_back(entry.first);
  return evaluator.objects().View(std::move(items), "dict_keys");
}

Value MappingValues(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("values");
  std::vector<Value> items;
  for (const auto& entry : AsMapping(self).entries()) items.push_back(entry.second);
  return evaluator.objects().View(std::move(items), "dict_values");
}

Value MappingGet(Evaluator&, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) Fail("dict.get() takes no keyword arguments");
  const auto [key, fallback] = arguments.Bind<2>("get", {"key", "default"}, 1);
  CheckHashable(key);
  if (const Value* found = AsMapping(self).Find(key)) return *found;
  return Given(fallback) ? fallback : Value::None();
}

Value MappingCopy(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("copy");
  const Ref<Mapping> copy = evaluator.objects().NewMapping();
  AddAll(*copy, AsMapping(self));
  return AsValue(copy);
}

Value ListCopy(Evaluator&, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("copy");
  return self;  // lists do not change
}

Value ListCount(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [wanted] = arguments.Bind<1>("count", {"value"}, 1);
  const auto& items = self.As<Sequence>().items;
  evaluator.budget().Step(items.size());
  const Value& value = wanted;
  return Value::Integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(evaluator.budget(), item, value);
  }));
}

Value ListIndex(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [wanted] = arguments.Bind<1>("index", {"value"}, 1);
  const auto& items = self.As<Sequence>().items;
  evaluator.budget().Step(items.size());
  const Value& value = wanted;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(evaluator.budget(), item, value);
  });
  if (found == items.end()) Fail("value is not in list");
  return Value::Integer(found - items.begin());
}

Value LoopCycle(Evaluator&, const Value& self, const Arguments& arguments) {
  return self.As<Loop>().Cycle(arguments);
}

Value LoopChanged(Evaluator&, const Value& self, const Arguments& arguments) {
  return self.As<Loop>().Changed(arguments);
}

// What a name means to each kind of value; null: not there, or not for templates.
struct Row {
  std::string_view name;
  Apply string = nullptr;
  Apply list = nullptr;
  Apply tuple = nullptr;
  Apply mapping = nullptr;
  Apply loop = nullptr;
  bool unsafe_list = false;
  bool unsafe_mapping = false;
};

std::vector<Row> MakeRows() {
  std::vector<Row> rows = {
      {.name = "items", .mapping = MappingItems},
      {.name = "keys", .mapping = MappingKeys},
      {.name = "values", .mapping = MappingValues},
      {.name = "get", .mapping = MappingGet},
      {.name = "copy", .list = ListCopy, .mapping = MappingCopy},
      {.name = "count", .list = ListCount, .tuple = ListCount},
      {.name = "index", .list = ListIndex, .tuple = ListIndex},
      {.name = "cycle", .loop = LoopCycle},
      {.name = "changed", .loop = LoopChanged},
      {.name = "pop", .unsafe_list = true, .unsafe_mapping = true},
      {.name = "clear", .unsafe_list = true, .unsafe_mapping = true},
      {.name = "popitem", .unsafe_mapping = true},
      {.name = "setdefault", .unsafe_mapping = true},
      {.name = "update", .unsafe_mapping = true},
      {.name = "append", .unsafe_list = true},
      {.name = "reverse", .unsafe_list = true},
      {.name = "insert", .unsafe_list = true},
      {.name = "sort", .unsafe_list = true},
      {.name = "extend", .unsafe_list = true},
      {.name = "remove", .unsafe_list = true},
  };
  for (const StringMethod& method : StringMethods()) {
    const auto known = std::find_if(rows.begin(), rows.end(),
                                    [&](const Row& row) { return row.name == method.name; });
    if (known != rows.end()) {
      known->string = method.apply;
    } else {
      rows.push_back({.name = method.name, .string = method.apply});
    }
  }
  return rows;
}

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>(MakeRows());
  return rows;
}

Apply Find(const Value& value, const Row& row) {
  switch (value.kind()) {
    case Kind::kString:
      return row.string;
    case Kind::kMapping:
      return row.mapping;
    case Kind::kLoop:
      return row.loop;
    case Kind::kSequence: {
      const Sequence& sequence = value.As<Sequence>();
      if (sequence.flavor == Flavor::kView) return nullptr;
      return sequence.flavor == Flavor::kList ? row.list : row.tuple;
    }
    default:
      return nullptr;
  }
}

}  // namespace

MethodId MethodNamed(std::string_view name) {
  static const auto& table = *[] {
    auto* ids = new absl::flat_hash_map<absl::string_view, MethodId>;
    for (std::size_t i = 0; i < Rows().size(); ++i) {
      const std::string_view known = Rows()[i].name;
      ids->emplace(absl::string_view(known.data(), known.size()), static_cast<MethodId>(i));
    }
    return ids;
  }();
  const auto found = table.find(absl::string_view(name.data(), name.size()));
  return found == table.end() ? MethodId::kNone : found->second;
}

Access MethodAccess(const Value& value, MethodId method) {
  if (method == MethodId::kNone) return Access::kNone;
  const Row& row = Rows()[static_cast<std::size_t>(method)];
  if (Find(value, row) != nullptr) return Access::kAllowed;
  const bool list = value.Is(Kind::kSequence) && value.As<Sequence>().flavor == Flavor::kList;
  const bool unsafe = (list && row.unsafe_list) || (value.Is(Kind::kMapping) && row.unsafe_mapping);
  return unsafe ? Access::kUnsafe : Access::kNone;
}

Value CallMethod(Evaluator& evaluator, const Value& self, MethodId method,
                 const Arguments& arguments) {
  const Row& row = Rows()[static_cast<std::size_t>(method)];
  return Find(self, row)(evaluator, self, arguments);
}

}  // namespace banyan::text::jinja
