// Filters of numbers.
#include <array>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/literal.h"
#include "text/jinja/operators.h"

namespace banyan::text::jinja {
namespace {

// Where the bytes of a number read from a string came from.
Source SourceOf(const Value& value) {
  return value.source() == Source::kMixed ? Source::kMessage : value.source();
}

std::optional<Value> Truncated(double number, Source source) {
  if (!(std::fabs(number) < 0x1p63)) return std::nullopt;
  return Value::Integer(static_cast<std::int64_t>(number), source);
}

Value Int(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [fallback, base] = arguments.Bind<2>("int", {"default", "base"});
  const Value otherwise = Given(fallback) ? fallback : Value::Integer(0);
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInteger:
      return Value::Integer(value.integer(), value.source());
    case Kind::kUnsigned:
      return value;
    case Kind::kFloat: {
      if (!std::isfinite(value.as_float())) return otherwise;
      const auto whole = Truncated(value.as_float(), value.source());
      if (!whole) Fail("an integer is too large");
      return *whole;
    }
    case Kind::kUndefined:
      FailUndefined(value);
    case Kind::kString:
      break;
    default:
      return otherwise;
  }
  evaluator.budget().Read(value.text().size());
  const std::int64_t radix = base.IsIntegral() ? base.integer() : 10;
  if (radix >= 0 && radix <= 36 && radix != 1) {
    if (const auto whole = ParseInteger(value.text(), static_cast<int>(radix))) {
      return Value::Integer(*whole, SourceOf(value));
    }
  }
  const auto number = ParseFloat(value.text());
  const auto whole = number ? Truncated(*number, SourceOf(value)) : std::nullopt;
  return whole ? *whole : otherwise;
}

Value FloatFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [fallback] = arguments.Bind<1>("float", {"default"});
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (value.IsNumber()) return Value::Float(ToFloat(value), value.source());
  if (value.IsString()) evaluator.budget().Read(value.text().size());
  const auto number = value.IsString() ? ParseFloat(value.text()) : std::nullopt;
  if (number) return Value::Float(*number, SourceOf(value));
  return Given(fallback) ? fallback : Value::Float(0);
}

Value Abs(Evaluator&, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("abs");
  if (value.Is(Kind::kFloat)) return Value::Float(std::fabs(value.as_float()), value.source());
  if (value.Is(Kind::kUnsigned)) return value;
  if (!value.IsIntegral()) {
    Fail(absl::StrCat("bad operand type for abs(): '", std::string(TypeName(value)), "'"));
  }
  return value.integer() < 0 ? Negative(value) : Positive(value);
}

// To the nearest, ties to the even, of the exact value: as Python's round.
double RoundTo(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < -300) return 0;
  if (digits >= 0) {
    return std::strtod(absl::StrFormat("%.*f", static_cast<int>(digits), value).c_str(), nullptr);
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / scale) * scale;
}

Value Round(Evaluator&, const Value& value, const Arguments& arguments) {
  const auto [precision, method] = arguments.Bind<2>("round", {"precision", "method"});
  const std::string_view how = method.IsString() ? method.text() : "common";
  if (how != "common" && how != "ceil" && how != "floor") {
    Fail("method must be common, ceil or floor");
  }
  if (Given(precision) && !precision.IsIntegral()) Fail("round: precision must be an integer");
  const std::int64_t digits = Given(precision) ? precision.integer() : 0;
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (!value.IsNumber()) Fail("round needs a number");
  if (how == "common") {
    if (value.IsIntegral() && digits >= 0) return Positive(value);
    const double rounded = RoundTo(ToFloat(value), digits);
    if (value.Is(Kind::kFloat)) return Value::Float(rounded, value.source());
    return Value::Integer(static_cast<std::int64_t>(rounded), value.source());
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = ToFloat(value) * scale;
  const double whole = how == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::Float(whole / scale, value.source());
}

constexpr std::array<Filter, 4> kRows = {{
    {"int", Int},
    {"float", FloatFilter},
    {"abs", Abs},
    {"round", Round},
}};

}  // namespace

std::span<const Filter> NumberFilters() { return kRows; }

}  // namespace banyan::text::jinja
