#include "text/jinja/objects.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "text/jinja/compare.h"
#include "text/jinja/error.h"
#include "text/jinja/loop.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kFewEntries = 8;  // are found faster one by one
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

int CheckedDepth(int depth) {
  if (depth > kMaxValueDepth) {
    throw Error(ErrorKind::kTooMuch,
                absl::StrCat("it nests values more than ", kMaxValueDepth, " deep"));
  }
  return depth;
}

absl::string_view Key(std::string_view key) { return {key.data(), key.size()}; }

}  // namespace

int DepthOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kSequence:
      return value.As<Sequence>().depth;
    case Kind::kMapping:
      return value.As<Mapping>().depth();
    case Kind::kGenerator:
      return value.As<Generator>().depth;
    case Kind::kLoop:
      return value.As<Loop>().depth;
    case Kind::kMethod:
      return DepthOf(value.As<Method>().self);
    default:
      return 0;
  }
}

void CheckHashable(const Value& value) {
  const bool list = value.Is(Kind::kSequence) && !value.As<Sequence>().IsTuple() &&
                    value.As<Sequence>().flavor != Flavor::kRange;
  if (list || value.Is(Kind::kMapping)) {
    Fail(absl::StrCat("unhashable type: '", std::string(TypeName(value)), "'"));
  }
  if (!value.Is(Kind::kSequence)) return;
  for (const Value& item : value.As<Sequence>().items) {
    value.As<Sequence>().budget().Step();
    CheckHashable(item);
  }
}

const Value* Mapping::Find(std::string_view key) const {
  const std::size_t index = IndexOf(key);
  return index == kNone ? nullptr : &entries_[index].second;
}

std::size_t Mapping::IndexOf(std::string_view key) const {
  budget().Touch(key.size());
  if (!index_.empty()) {
    const auto found = index_.find(Key(key));
    return found == index_.end() ? kNone : found->second;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].first.IsString() && entries_[i].first.text() == key) return i;
  }
  return kNone;
}

const Value* Mapping::Find(const Value& key) const {
  if (key.IsString()) return Find(key.text());
  budget().Step(entries_.size());
  for (const Entry& entry : entries_) {
    if (!entry.first.IsString() && Equal(budget(), entry.first, key)) return &entry.second;
  }
  return nullptr;
}

void Mapping::Index(std::size_t entry) {
  const Value& key = entries_[entry].first;
  if (key.IsString()) index_.emplace(Key(key.text()), static_cast<std::uint32_t>(entry));
}

void Mapping::Set(const Value& key, const Value& value) {
  depth_ = CheckedDepth(std::max({depth_, 1 + DepthOf(key), 1 + DepthOf(value)}));
  if (const Value* old = Find(key)) {
    *const_cast<Value*>(old) = value;
    return;
  }
  HoldMore(2 * sizeof(Entry) + sizeof(void*));
  entries_.emplace_back(key, value);
  if (!index_.empty()) {
    Index(entries_.size() - 1);
  } else if (entries_.size() > kFewEntries) {
    for (std::size_t i = 0; i < entries_.size(); ++i) Index(i);
  }
}

const Value* Namespace::Find(std::string_view name) const {
  budget().Step(members_.size() / 16);
  for (const auto& [key, value] : members_) {
    if (key.text() == name) return &value;
  }
  return nullptr;
}

void Namespace::Set(const Value& name, const Value& value) {
  budget().Step(1 + members_.size() / 8);
  for (auto& [key, old] : members_) {
    if (key.text() != name.text()) continue;
    old = value;
    return;
  }
  HoldMore(2 * sizeof(Mapping::Entry));
  members_.emplace_back(name, value);
}

void Namespace::Clear() { members_.clear(); }

bool Generator::Next(Value& item) {
  if (running_) Fail("generator already executing");
  if (!next_) return false;
  budget().Step();
  running_ = true;
  const bool more = next_(item);
  running_ = false;
  if (!more) next_ = nullptr;
  return more;
}

Objects::~Objects() {
  for (const Ref<Namespace>& space : namespaces_) space->Clear();
}

Value Objects::List(std::vector<Value> items, Flavor flavor) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, DepthOf(item));
  depth = CheckedDepth(depth + 1);
  budget_.Step(1 + items.size() / 4);
  const std::size_t held = sizeof(Sequence) + items.size() * sizeof(Value);
  budget_.Hold(held);
  return Value::Of(Kind::kSequence, new Sequence(budget_, held, flavor, std::move(items), depth));
}

Value Objects::Range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 0) Fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (__int128 i = start; step > 0 ? i < stop : i > stop; i += step) {
    if (items.size() == kMaxRange) {
      Fail(absl::StrCat("Range too big. The sandbox blocks ranges larger than MAX_RANGE (",
                        kMaxRange, ")."));
    }
    items.push_back(Value::Integer(static_cast<std::int64_t>(i)));
  }
  Value list = List(std::move(items), Flavor::kRange);
  list.As<Sequence>().range = {start, stop, step};
  return list;
}

Value Objects::View(std::vector<Value> items, std::string_view name) {
  Value view = List(std::move(items), Flavor::kView);
  view.As<Sequence>().view_name = name;
  return view;
}

Ref<Mapping> Objects::NewMapping() {
  budget_.Hold(sizeof(Mapping));
  return Ref<Mapping>(new Mapping(budget_, sizeof(Mapping)));
}

Ref<Namespace> Objects::NewNamespace() {
  budget_.Hold(sizeof(Namespace));
  Ref<Namespace> made(new Namespace(budget_, sizeof(Namespace)));
  namespaces_.push_back(made);
  return made;
}

Value Objects::NewGenerator(const Value& from, Generator::Source next) {
  const int depth = CheckedDepth(1 + DepthOf(from));
  constexpr std::size_t kHeld = sizeof(Generator) + 256;  // with what its function holds
  budget_.Hold(kHeld);
  return Value::Of(Kind::kGenerator, new Generator(budget_, kHeld, std::move(next), depth));
}

Value Objects::NewMethod(const Value& self, int method) {
  budget_.Hold(sizeof(Method));
  return Value::Of(Kind::kMethod, new Method(budget_, sizeof(Method), self, method));
}

}  // namespace banyan::text::jinja
