#include "text/jinja/subscript.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/characters.h"
#include "text/jinja/error.h"
#include "text/jinja/loop.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {
namespace {

Value Absent(const Value& value, const Value& name) {
  const std::string_view text = name.IsString() ? name.text() : std::string_view("element");
  return Value::Undefined(Absence::kAttribute, text, value.kind(),
                          name.IsString() ? name.object() : nullptr);
}

// What is an attribute of the value itself; kMissing: nothing.
Value OwnAttribute(Objects& objects, const Value& value, const Value& name, MethodId method) {
  const std::string_view text = name.text();
  switch (value.kind()) {
    case Kind::kUndefined:
      FailUndefined(value);
    case Kind::kNamespace: {
      const Value* member = value.As<Namespace>().Find(text);
      return member == nullptr ? Value() : *member;
    }
    case Kind::kLoop: {
      if (text == "cycle" || text == "changed")
        return objects.NewMethod(value, static_cast<int>(method));
      return value.As<Loop>().Attribute(text);
    }
    case Kind::kMacro:
      return Value();
    case Kind::kSequence: {
      const Sequence& sequence = value.As<Sequence>();
      if (sequence.flavor == Flavor::kGroup && text == "grouper") return sequence.items[0];
      if (sequence.flavor == Flavor::kGroup && text == "list") return sequence.items[1];
      break;
    }
    default:
      break;
  }
  switch (MethodAccess(value, method)) {
    case Access::kAllowed:
      return objects.NewMethod(value, static_cast<int>(method));
    case Access::kUnsafe:
      return Value::Undefined(Absence::kUnsafe, text, value.kind(), name.object());
    case Access::kNone:
      break;
  }
  return Value();
}

// value[key] alone; kMissing: no such item.
Value OwnItem(const Value& value, const Value& key) {
  switch (value.kind()) {
    case Kind::kUndefined:
      FailUndefined(value);
    case Kind::kMapping: {
      const Value* found = value.As<Mapping>().Find(key);
      return found == nullptr ? Value() : *found;
    }
    case Kind::kSequence: {
      const Sequence& sequence = value.As<Sequence>();
      if (!key.IsIntegral() || sequence.flavor == Flavor::kView) return Value();
      const auto size = static_cast<std::int64_t>(sequence.items.size());
      const std::int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
      if (index < 0 || index >= size) return Value();
      return sequence.items[static_cast<std::size_t>(index)];
    }
    case Kind::kString: {
      if (!key.IsIntegral()) return Value();
      const std::string_view text = value.text();
      std::int64_t index = key.integer();
      if (index < 0) index += static_cast<std::int64_t>(CountCharacters(text));
      if (index < 0 || index >= static_cast<std::int64_t>(text.size())) return Value();
      const std::size_t at = ByteOf(text, static_cast<std::size_t>(index));
      if (at == text.size()) return Value();
      return Substring(value, at, FirstCharacter(text.substr(at)).length);
    }
    default:
      return Value();
  }
}

struct Bounds {
  std::int64_t start, stop, step;
};

// As Python's slice.indices.
Bounds Indices(const Value& start, const Value& stop, const Value& step, std::int64_t size) {
  const auto number = [](const Value& value) {
    if (value.Is(Kind::kUndefined)) FailUndefined(value);
    if (!value.IsIntegral()) Fail("slice indices must be integers or None");
    return value.integer();
  };
  Bounds bounds = {.start = 0, .stop = 0, .step = step.Is(Kind::kNone) ? 1 : number(step)};
  if (bounds.step == 0) Fail("slice step cannot be zero");
  bounds.step = std::clamp<std::int64_t>(bounds.step, -size - 1, size + 1);
  const bool down = bounds.step < 0;
  const std::int64_t least = down ? -1 : 0;
  const std::int64_t most = down ? size - 1 : size;
  const auto clamp = [&](const Value& value, std::int64_t fallback) {
    if (value.Is(Kind::kNone)) return fallback;
    const std::int64_t index = std::clamp<std::int64_t>(number(value), -size - 1, size + 1);
    return std::clamp(index < 0 ? index + size : index, least, most);
  };
  bounds.start = clamp(start, down ? most : least);
  bounds.stop = clamp(stop, down ? least : most);
  return bounds;
}

Value SliceString(Budget& budget, const Value& string, const Bounds& bounds) {
  const std::string_view text = string.text();
  if (bounds.step == 1) {
    if (bounds.stop <= bounds.start) return Value::Static("").AsMarkup(string.is_markup());
    const std::size_t begin = ByteOf(text, static_cast<std::size_t>(bounds.start));
    const std::size_t length =
        ByteOf(text.substr(begin), static_cast<std::size_t>(bounds.stop - bounds.start));
    return Substring(string, begin, length);
  }
  budget.Read(text.size());
  const std::size_t held = (text.size() + 1) * sizeof(std::size_t);
  budget.Hold(held);
  budget.Release(held);
  std::vector<std::size_t> starts;
  starts.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size(); at += FirstCharacter(text.substr(at)).length) {
    starts.push_back(at);
  }
  starts.push_back(text.size());
  Writer writer(budget);
  for (std::int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop;
       i += bounds.step) {
    const auto index = static_cast<std::size_t>(i);
    writer.Write(text.substr(starts[index], starts[index + 1] - starts[index]),
                 SourceAt(string, starts[index]));
  }
  return writer.Finish().AsMarkup(string.is_markup());
}

}  // namespace

Value LookUpAttribute(Objects& objects, const Value& value, const Value& name, MethodId method) {
  Value found = OwnAttribute(objects, value, name, method);
  if (!Given(found)) found = OwnItem(value, name);
  return Given(found) ? found : Absent(value, name);
}

Value LookUpItem(Objects& objects, const Value& value, const Value& key) {
  if (value.IsString()) objects.budget().Touch(value.text().size());
  Value found = OwnItem(value, key);
  if (!Given(found) && key.IsString()) {
    found = OwnAttribute(objects, value, key, MethodNamed(key.text()));
  }
  return Given(found) ? found : Absent(value, key);
}

Value Slice(Objects& objects, const Value& value, const Value& start, const Value& stop,
            const Value& step) {
  Budget& budget = objects.budget();
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (value.IsString()) {
    budget.Touch(value.text().size());
    const auto size = static_cast<std::int64_t>(CountCharacters(value.text()));
    return SliceString(budget, value, Indices(start, stop, step, size));
  }
  if (!value.Is(Kind::kSequence) || value.As<Sequence>().flavor == Flavor::kView) {
    Fail(absl::StrCat("'", std::string(TypeName(value)), "' object cannot be sliced"));
  }
  const Sequence& sequence = value.As<Sequence>();
  const Bounds bounds =
      Indices(start, stop, step, static_cast<std::int64_t>(sequence.items.size()));
  std::vector<Value> items;
  for (std::int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop;
       i += bounds.step) {
    items.push_back(sequence.items[static_cast<std::size_t>(i)]);
  }
  return objects.List(std::move(items), sequence.IsTuple() ? Flavor::kTuple : Flavor::kList);
}

}  // namespace banyan::text::jinja
