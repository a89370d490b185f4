#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/format.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {
namespace {

std::string_view Spelled(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    default:
      return "**";
  }
}

[[noreturn]] void NotSupported(Op op, const Value& left, const Value& right) {
  if (left.Is(Kind::kUndefined)) FailUndefined(left);
  if (right.Is(Kind::kUndefined)) FailUndefined(right);
  if (left.Is(Kind::kUnsigned) || right.Is(Kind::kUnsigned)) Fail("an integer is too large");
  Fail(absl::StrCat("unsupported operand type(s) for ", std::string(Spelled(op)), ": '",
                    std::string(TypeName(left)), "' and '", std::string(TypeName(right)), "'"));
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t Power(std::int64_t base, std::int64_t exponent, bool& overflow) {
  std::int64_t result = 1;
  // By squares, so that 1 ** (2 ** 62) takes 62 steps.
  while (exponent > 0 && !overflow) {
    if (exponent % 2 == 1) overflow = __builtin_mul_overflow(result, base, &result);
    exponent /= 2;
    if (exponent > 0 && !overflow) overflow = __builtin_mul_overflow(base, base, &base);
  }
  return result;
}

Value Integers(Op op, std::int64_t a, std::int64_t b, Source source) {
  std::int64_t result = 0;
  bool overflow = false;
  const bool divides = op == Op::kDivide || op == Op::kFloorDivide || op == Op::kModulo;
  if (divides && b == 0) Fail("division by zero");
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  switch (op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Op::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Op::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Op::kDivide:
      return Value::Float(static_cast<double>(a) / static_cast<double>(b), source);
    case Op::kFloorDivide:
      overflow = a == kLeast && b == -1;
      if (!overflow) result = FloorDivide(a, b);
      break;
    case Op::kModulo:
      result = b == -1 ? 0 : a - FloorDivide(a, b) * b;
      break;
    default:
      if (b < 0 && a == 0) Fail("0.0 cannot be raised to a negative power");
      if (b < 0) {
        return Value::Float(std::pow(static_cast<double>(a), static_cast<double>(b)), source);
      }
      result = Power(a, b, overflow);
  }
  if (overflow) Fail("an integer is too large");
  return Value::Integer(result, source);
}

double Modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) return rest + b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value Floats(Op op, double a, double b, Source source) {
  const bool divides = op == Op::kDivide || op == Op::kFloorDivide || op == Op::kModulo;
  if (divides && b == 0) Fail("float division by zero");
  switch (op) {
    case Op::kAdd:
      return Value::Float(a + b, source);
    case Op::kSubtract:
      return Value::Float(a - b, source);
    case Op::kMultiply:
      return Value::Float(a * b, source);
    case Op::kDivide:
      return Value::Float(a / b, source);
    case Op::kFloorDivide:
      return Value::Float(std::round((a - Modulo(a, b)) / b), source);
    case Op::kModulo:
      return Value::Float(Modulo(a, b), source);
    default:
      if (a == 0 && b < 0) Fail("0.0 cannot be raised to a negative power");
      if (a < 0 && std::floor(b) != b) Fail("a complex number is not supported");
      return Value::Float(std::pow(a, b), source);
  }
}

Value RepeatString(Budget& budget, const Value& string, std::int64_t times) {
  if (times <= 0 || string.text().empty()) return Value::Static("").AsMarkup(string.is_markup());
  // Some at a time, where they are short.
  constexpr std::size_t kBlockBytes = 512;
  const auto per_block = static_cast<std::int64_t>(kBlockBytes / string.text().size() + 1);
  const auto repeat = [&](const Value& what, std::int64_t count) {
    Writer writer(budget);
    for (std::int64_t i = 0; i < count; ++i) writer.Write(what);
    return writer.Finish();
  };
  Writer writer(budget);
  if (times >= per_block) {
    const Value block = repeat(string, per_block);
    for (; times >= per_block; times -= per_block) writer.Write(block);
  }
  writer.Write(repeat(string, times));
  return writer.Finish().AsMarkup(string.is_markup());
}

Value RepeatList(Objects& objects, const Sequence& list, std::int64_t times) {
  std::vector<Value> items;
  const std::size_t size = list.items.size();
  if (size > 0 && times > 0) {
    if (static_cast<std::uint64_t>(times) > kMaxHeldBytes / size) times = kMaxHeldBytes;
    objects.budget().Step(static_cast<std::uint64_t>(times) * size);
    const std::size_t held = static_cast<std::size_t>(times) * size * sizeof(Value);
    objects.budget().Hold(held);  // List holds them once more, for good
    objects.budget().Release(held);
  }
  for (std::int64_t i = 0; i < times && size > 0; ++i) {
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return objects.List(std::move(items), list.IsTuple() ? Flavor::kTuple : Flavor::kList);
}

bool IsListOrTuple(const Value& value) {
  return value.Is(Kind::kSequence) &&
         (value.As<Sequence>().IsTuple() || value.As<Sequence>().flavor == Flavor::kList);
}

Value AddLists(Objects& objects, const Sequence& left, const Sequence& right) {
  objects.budget().Step(left.items.size() + right.items.size());
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return objects.List(std::move(items), left.IsTuple() ? Flavor::kTuple : Flavor::kList);
}

}  // namespace

Value Add(Objects& objects, const Value& left, const Value& right) {
  Budget& budget = objects.budget();
  if (left.IsString() && right.IsString()) {
    if (!left.is_markup() && !right.is_markup()) return Concatenate(budget, left, right);
    return Concatenate(budget, Escape(budget, left), Escape(budget, right)).AsMarkup(true);
  }
  if (left.IsIntegral() && right.IsIntegral()) {
    return Integers(Op::kAdd, left.integer(), right.integer(), Both(left.source(), right.source()));
  }
  if (left.IsNumber() && right.IsNumber() && (left.Is(Kind::kFloat) || right.Is(Kind::kFloat))) {
    return Floats(Op::kAdd, ToFloat(left), ToFloat(right), Both(left.source(), right.source()));
  }
  if (IsListOrTuple(left) && IsListOrTuple(right)) {
    const Sequence& a = left.As<Sequence>();
    const Sequence& b = right.As<Sequence>();
    if (a.IsTuple() == b.IsTuple()) return AddLists(objects, a, b);
  }
  NotSupported(Op::kAdd, left, right);
}

Value Calculate(Evaluator& evaluator, Op op, const Value& left, const Value& right) {
  Objects& objects = evaluator.objects();
  if (op == Op::kAdd) return Add(objects, left, right);
  const Source source = Both(left.source(), right.source());
  if (left.IsIntegral() && right.IsIntegral()) {
    return Integers(op, left.integer(), right.integer(), source);
  }
  if (left.IsNumber() && right.IsNumber() && (left.Is(Kind::kFloat) || right.Is(Kind::kFloat))) {
    return Floats(op, ToFloat(left), ToFloat(right), source);
  }
  if (op == Op::kModulo && left.IsString()) return FormatPercent(evaluator, left, right);
  if (op == Op::kMultiply) {
    const bool swapped = left.IsIntegral();
    const Value& what = swapped ? right : left;
    const Value& times = swapped ? left : right;
    if (times.IsIntegral() && what.IsString()) {
      return RepeatString(evaluator.budget(), what, times.integer());
    }
    if (times.IsIntegral() && IsListOrTuple(what)) {
      return RepeatList(objects, what.As<Sequence>(), times.integer());
    }
  }
  NotSupported(op, left, right);
}

Value Negative(const Value& value) {
  if (value.Is(Kind::kFloat)) return Value::Float(-value.as_float(), value.source());
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (!value.IsIntegral()) {
    Fail(absl::StrCat("bad operand type for unary -: '", std::string(TypeName(value)), "'"));
  }
  return Integers(Op::kSubtract, 0, value.integer(), value.source());
}

Value Positive(const Value& value) {
  if (value.Is(Kind::kFloat) || value.Is(Kind::kUnsigned)) return value;
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (!value.IsIntegral()) {
    Fail(absl::StrCat("bad operand type for unary +: '", std::string(TypeName(value)), "'"));
  }
  return Value::Integer(value.integer(), value.source());
}

}  // namespace banyan::text::jinja
