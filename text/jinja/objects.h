// The values that are more than a scalar or a string.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

enum class Flavor : std::uint8_t {
  kList,
  kTuple,
  kRange,
  kView,   // of a mapping: keys(), values(), items()
  kGroup,  // a tuple of (grouper, list), with these names
};

class Sequence final : public Object {
 public:
  Sequence(Budget& budget, std::size_t held, Flavor which, std::vector<Value> all, int levels)
      : Object(budget, held), flavor(which), depth(levels), items(std::move(all)) {}

  bool IsTuple() const { return flavor == Flavor::kTuple || flavor == Flavor::kGroup; }

  const Flavor flavor;
  const int depth;  // 1 + that of the deepest item
  const std::vector<Value> items;
  std::string_view view_name;                     // of a kView: "dict_items"
  std::array<std::int64_t, 3> range = {0, 0, 1};  // of a kRange: start, stop, step
};

class Mapping final : public Object {
 public:
  using Entry = std::pair<Value, Value>;

  Mapping(Budget& budget, std::size_t held) : Object(budget, held) {}

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of insertion
  int depth() const { return depth_; }
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;

  // Only while it is being made. An equal key keeps its place and spelling.
  void Set(const Value& key, const Value& value);

 private:
  std::size_t IndexOf(std::string_view key) const;
  void Index(std::size_t entry);

  std::vector<Entry> entries_;
  int depth_ = 1;
  // Entries with string keys, once there are more than a few; keys lie in entries_.
  absl::flat_hash_map<absl::string_view, std::uint32_t> index_;
};

class Namespace final : public Object {
 public:
  Namespace(Budget& budget, std::size_t held) : Object(budget, held) {}

  const Value* Find(std::string_view name) const;
  void Set(const Value& name, const Value& value);
  void Clear();

 private:
  std::vector<std::pair<Value, Value>> members_;
};

// What filters such as map and select give: its items are made when they are asked for, once.
class Generator final : public Object {
 public:
  using Source = std::function<bool(Value&)>;  // false: no more

  // `levels`: 1 + the depth of what it takes its items from.
  Generator(Budget& budget, std::size_t held, Source next, int levels)
      : Object(budget, held), depth(levels), next_(std::move(next)) {}

  bool Next(Value& item);

  const int depth;

 private:
  Source next_;
  bool running_ = false;
};

struct MacroNode;
struct Scope;

// `around`: the scope in which it was defined; null for the template itself.
class Macro final : public Object {
 public:
  Macro(Budget& budget, std::size_t held, const MacroNode& definition, Scope* around)
      : Object(budget, held), node(definition), scope(around) {}

  const MacroNode& node;
  Scope* const scope;
};

// value.name, not yet called.
class Method final : public Object {
 public:
  Method(Budget& budget, std::size_t held, Value of, int which)
      : Object(budget, held), self(std::move(of)), method(which) {}

  const Value self;
  const int method;
};

// Makes objects within the budget, and ends the cycles between namespaces when it goes.
class Objects {
 public:
  explicit Objects(Budget& budget) : budget_(budget) {}
  ~Objects();

  Budget& budget() { return budget_; }
  Value List(std::vector<Value> items, Flavor flavor = Flavor::kList);
  Value Tuple(std::initializer_list<Value> items) { return List(items, Flavor::kTuple); }
  Value Range(std::int64_t start, std::int64_t stop, std::int64_t step);
  Value View(std::vector<Value> items, std::string_view name);
  Ref<Mapping> NewMapping();
  Ref<Namespace> NewNamespace();
  Value NewGenerator(const Value& from, Generator::Source next);
  Value NewMethod(const Value& self, int method);

 private:
  Budget& budget_;
  std::vector<Ref<Namespace>> namespaces_;
};

inline Value AsValue(const Ref<Mapping>& mapping) {
  return Value::Of(Kind::kMapping, mapping.get());
}

// Throws where a mapping cannot have it as a key.
void CheckHashable(const Value& value);

// The depth of a value within a list: 0 for what holds no others.
int DepthOf(const Value& value);

}  // namespace banyan::text::jinja
