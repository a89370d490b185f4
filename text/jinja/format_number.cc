// Numbers in Python's formats.
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/format.h"

namespace banyan::text::jinja {
namespace {

std::string Digits(std::uint64_t value, unsigned base) {
  std::string out;
  do {
    out.insert(out.begin(), "0123456789abcdef"[value % base]);
    value /= base;
  } while (value > 0);
  return out;
}

void Upper(std::string& text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
}

// A separator every three digits before the point.
void Group(std::string& digits, char separator) {
  std::size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (std::size_t i = end; i > 3;) {
    i -= 3;
    digits.insert(i, 1, separator);
  }
}

std::string SpellWhole(const Value& value, const Spec& spec, bool& negative) {
  std::uint64_t magnitude = value.as_unsigned();
  if (!value.Is(Kind::kUnsigned)) {
    negative = value.integer() < 0;
    magnitude = static_cast<std::uint64_t>(value.integer());
    if (negative) magnitude = 0 - magnitude;
  }
  std::string prefix;
  unsigned base = 10;
  switch (spec.type) {
    case 'x':
    case 'X':
      base = 16;
      prefix = "0x";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    default:
      break;
  }
  std::string out = Digits(magnitude, base);
  if (spec.group != '\0') Group(out, spec.group);
  if (spec.alternate) out.insert(0, prefix);
  if (spec.type == 'X') Upper(out);
  return out;
}

std::string SpellReal(double value, const Spec& spec) {
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return "inf";
  if (std::isnan(value)) return "nan";
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
    case 'E':
      return absl::StrFormat("%.*e", precision, magnitude);
    case 'f':
    case 'F':
      return absl::StrFormat("%.*f", precision, magnitude);
    case '%':
      return absl::StrFormat("%.*f%%", precision, magnitude * 100);
    case 'g':
    case 'G':
      return absl::StrFormat("%.*g", precision == 0 ? 1 : precision, magnitude);
    default:
      break;
  }
  if (spec.precision < 0) return SpellFloat(magnitude);
  std::string out = absl::StrFormat("%.*g", precision == 0 ? 1 : precision, magnitude);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

}  // namespace

std::string SpellNumber(const Value& value, const Spec& spec) {
  bool negative = false;
  std::string out;
  const bool real =
      std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != '\0';
  if (value.Is(Kind::kFloat) || real) {
    if (!real && spec.type != '\0' && spec.type != 'r') {
      Fail(absl::StrCat("Unknown format code '", std::string(1, spec.type),
                        "' for object of type 'float'"));
    }
    const double number = ToFloat(value);
    negative = std::signbit(number) && !std::isnan(number);
    out = SpellReal(number, spec);
    if (spec.type == 'E' || spec.type == 'G' || spec.type == 'F') Upper(out);
    if (spec.group != '\0') Group(out, spec.group);
  } else {
    if (!value.IsNumber()) FailUndefined(value);
    out = SpellWhole(value, spec, negative);
  }
  if (negative) {
    out.insert(out.begin(), '-');
  } else if (spec.sign != '-') {
    out.insert(out.begin(), spec.sign);
  }
  return out;
}

}  // namespace banyan::text::jinja
