#include "text/jinja/compare.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "text/jinja/error.h"
#include "text/jinja/iterate.h"
#include "text/jinja/objects.h"
#include "text/jinja/search.h"

namespace banyan::text::jinja {
namespace {

// Numbers exactly: none of them is a not-a-number.
int OrderNumbers(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  const auto wide = [](const Value& v) {
    return v.Is(Kind::kUnsigned) ? static_cast<__int128>(v.as_unsigned())
                                 : static_cast<__int128>(v.integer());
  };
  const bool a_float = a.Is(Kind::kFloat);
  const bool b_float = b.Is(Kind::kFloat);
  if (a_float && b_float) return sign(a.as_float(), b.as_float());
  if (!a_float && !b_float) return sign(wide(a), wide(b));
  if (b_float) return -OrderNumbers(b, a);
  const double x = a.as_float();
  if (x >= 0x1p65) return 1;
  if (x <= -0x1p65) return -1;
  const auto whole = static_cast<__int128>(std::floor(x));
  const int order = sign(whole, wide(b));
  return order == 0 && std::floor(x) < x ? 1 : order;
}

bool IsNan(const Value& value) { return value.Is(Kind::kFloat) && std::isnan(value.as_float()); }

bool SameFlavor(const Sequence& a, const Sequence& b) {
  if (a.IsTuple() || b.IsTuple()) return a.IsTuple() && b.IsTuple();
  return a.flavor == b.flavor;
}

bool EqualSequences(Budget& budget, const Sequence& a, const Sequence& b) {
  if (!SameFlavor(a, b) || a.items.size() != b.items.size()) return false;
  if (&a == &b) return true;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    budget.Step();
    if (!Equal(budget, a.items[i], b.items[i])) return false;
  }
  return true;
}

bool EqualMappings(Budget& budget, const Mapping& a, const Mapping& b) {
  if (a.entries().size() != b.entries().size()) return false;
  if (&a == &b) return true;
  for (const auto& [key, value] : a.entries()) {
    budget.Step();
    const Value* other = b.Find(key);
    if (other == nullptr || !Equal(budget, value, *other)) return false;
  }
  return true;
}

[[noreturn]] void NoOrder(const Value& a, const Value& b, std::string_view op) {
  if (a.Is(Kind::kUndefined)) FailUndefined(a);
  if (b.Is(Kind::kUndefined)) FailUndefined(b);
  Fail(absl::StrCat("'", std::string(op), "' not supported between instances of '",
                    std::string(TypeName(a)), "' and '", std::string(TypeName(b)), "'"));
}

int OrderSequences(Budget& budget, const Sequence& a, const Sequence& b, std::string_view op) {
  const std::size_t common = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < common; ++i) {
    budget.Step();
    if (Equal(budget, a.items[i], b.items[i])) continue;
    return Order(budget, a.items[i], b.items[i], op);
  }
  return a.items.size() < b.items.size() ? -1 : a.items.size() > b.items.size() ? 1 : 0;
}

}  // namespace

bool Equal(Budget& budget, const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) {
    return !IsNan(a) && !IsNan(b) && OrderNumbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      if (a.text().size() != b.text().size()) return false;
      budget.Touch(a.text().size());
      return a.text() == b.text();
    case Kind::kSequence:
      return EqualSequences(budget, a.As<Sequence>(), b.As<Sequence>());
    case Kind::kMapping:
      return EqualMappings(budget, a.As<Mapping>(), b.As<Mapping>());
    default:
      return Same(budget, a, b);
  }
}

bool Same(Budget& budget, const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kFunction:
      return a.integer() == b.integer();
    case Kind::kUnsigned:
    case Kind::kFloat:
    case Kind::kString:
      return Equal(budget, a, b);
    default:
      return a.object() == b.object();
  }
}

int Order(Budget& budget, const Value& a, const Value& b, std::string_view op) {
  if (a.IsNumber() && b.IsNumber()) {
    // Without an order; sorts treat it as Python's sort does what it cannot compare.
    if (IsNan(a) || IsNan(b)) return op == "<" ? 0 : 2;
    return OrderNumbers(a, b);
  }
  if (a.IsString() && b.IsString()) {
    budget.Touch(std::min(a.text().size(), b.text().size()));
    return a.text().compare(b.text());  // as code points
  }
  if (a.Is(Kind::kSequence) && b.Is(Kind::kSequence)) {
    const Sequence& x = a.As<Sequence>();
    const Sequence& y = b.As<Sequence>();
    const bool ordered = x.IsTuple() || x.flavor == Flavor::kList;
    if (ordered && SameFlavor(x, y)) return OrderSequences(budget, x, y, op);
  }
  NoOrder(a, b, op);
}

bool Truth(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInteger:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kSequence:
      return !value.As<Sequence>().items.empty();
    case Kind::kMapping:
      return !value.As<Mapping>().entries().empty();
    default:
      return true;
  }
}

bool Contains(Budget& budget, const Value& container, const Value& value) {
  if (container.IsString()) {
    if (value.Is(Kind::kUndefined)) FailUndefined(value);
    if (!value.IsString()) {
      Fail(absl::StrCat("'in <string>' requires string as left operand, not ",
                        std::string(TypeName(value))));
    }
    budget.Read(container.text().size());
    return FindText(container.text(), value.text(), 0) != std::string_view::npos;
  }
  if (container.Is(Kind::kMapping)) {
    CheckHashable(value);
    return container.As<Mapping>().Find(value) != nullptr;
  }
  if (!IsIterable(container) || container.Is(Kind::kLoop)) {
    Fail(absl::StrCat("argument of type '", std::string(TypeName(container)), "' is not iterable"));
  }
  Iterator iterator(container);
  Value item;
  while (iterator.Next(item)) {
    budget.Step();
    if (Equal(budget, item, value)) return true;
  }
  return false;
}

bool Compare(Budget& budget, Comparison comparison, const Value& a, const Value& b) {
  const bool nan = IsNan(a) || IsNan(b);
  switch (comparison) {
    case Comparison::kEqual:
      return Equal(budget, a, b);
    case Comparison::kNotEqual:
      return !Equal(budget, a, b);
    case Comparison::kLess:
      return Order(budget, a, b, "<") < 0 && !nan;
    case Comparison::kLessEqual:
      return Order(budget, a, b, "<=") <= 0 && !nan;
    case Comparison::kGreater:
      return Order(budget, a, b, ">") > 0 && !nan;
    case Comparison::kGreaterEqual:
      return Order(budget, a, b, ">=") >= 0 && !nan;
    case Comparison::kIn:
      return Contains(budget, b, a);
    case Comparison::kNotIn:
      return !Contains(budget, b, a);
  }
  return false;
}

}  // namespace banyan::text::jinja
