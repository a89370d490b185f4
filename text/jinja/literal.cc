#include "text/jinja/literal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "absl/strings/ascii.h"
#include "text/jinja/characters.h"

namespace banyan::text::jinja {
namespace {

int DigitValue(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// The length of digits of `base` with single underscores between them; `leading`: one may come
// first.
std::size_t DigitRun(std::string_view text, int base, bool leading) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (DigitValue(text[i]) < base) {
      length = i + 1;
    } else if (text[i] != '_' || (i == 0 ? !leading : text[i - 1] == '_')) {
      break;
    }
  }
  return length;
}

std::optional<std::int64_t> Digits(std::string_view text, int base, bool negative) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c == '_') continue;
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, negative ? -DigitValue(c) : DigitValue(c), &value)) {
      return std::nullopt;
    }
  }
  return value;
}

int BaseOfPrefix(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 10;
  }
}

std::optional<double> ToDouble(std::string_view text) {
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (!plain.empty() && plain[0] == '+') plain.erase(0, 1);
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (end != plain.data() + plain.size()) return std::nullopt;
  // Too large or too small for from_chars: as Python, infinite or zero.
  if (error == std::errc::result_out_of_range) value = std::strtod(plain.c_str(), nullptr);
  if (error == std::errc::invalid_argument) return std::nullopt;
  return value;
}

std::size_t Exponent(std::string_view text) {
  if (text.empty() || (text[0] | 0x20) != 'e') return 0;
  const std::size_t sign = text.size() > 1 && (text[1] == '+' || text[1] == '-') ? 1 : 0;
  const std::size_t digits = DigitRun(text.substr(1 + sign), 10, false);
  return digits == 0 ? 0 : 1 + sign + digits;
}

// The code point of an escape's digits.
bool AppendCodePoint(std::string_view digits, std::size_t wanted, int base, std::string& out) {
  if (digits.size() < wanted || DigitRun(digits.substr(0, wanted), base, false) != wanted) {
    return false;
  }
  const auto value = Digits(digits.substr(0, wanted), base, false);
  if (!value || *value > 0x10FFFF || (*value >= 0xD800 && *value < 0xE000)) return false;
  AppendUtf8(static_cast<char32_t>(*value), out);
  return true;
}

}  // namespace

std::optional<std::string> Unescape(std::string_view spelled) {
  constexpr std::string_view kNames = "abfnrtv\\'\"";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
  std::string out;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    if (spelled[i] != '\\' || i + 1 == spelled.size()) {
      out.push_back(spelled[i]);
      continue;
    }
    const char c = spelled[++i];
    const std::string_view rest = spelled.substr(i + 1);
    if (const std::size_t known = kNames.find(c); known != std::string_view::npos) {
      out.push_back(kValues[known]);
    } else if (c == '\n') {
      continue;
    } else if (c >= '0' && c <= '7') {
      std::size_t length = 1;
      while (length < 3 && i + length < spelled.size() && spelled[i + length] >= '0' &&
             spelled[i + length] <= '7') {
        ++length;
      }
      if (!AppendCodePoint(spelled.substr(i), length, 8, out)) return std::nullopt;
      i += length - 1;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      if (!AppendCodePoint(rest, length, 16, out)) return std::nullopt;
      i += length;
    } else if (c == 'N') {
      return std::nullopt;  // characters by name are not supported
    } else {
      out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

std::optional<NumberLiteral> ReadNumber(std::string_view text, bool after_dot) {
  NumberLiteral literal;
  const std::size_t whole = DigitRun(text, 10, false);
  if (!after_dot) {
    std::size_t end = whole;
    if (end < text.size() && text[end] == '.') {
      const std::size_t fraction = DigitRun(text.substr(end + 1), 10, false);
      if (fraction > 0) end += 1 + fraction;
    }
    const std::size_t exponent = Exponent(text.substr(end));
    if (end + exponent > whole) {
      literal.length = end + exponent;
      literal.is_float = true;
      literal.number = ToDouble(text.substr(0, literal.length)).value_or(0);
      return literal;
    }
  }
  const int base = BaseOfPrefix(text);
  if (base != 10) {
    const std::size_t digits = DigitRun(text.substr(2), base, true);
    if (digits > 0) {
      const auto value = Digits(text.substr(2, digits), base, false);
      if (!value) return std::nullopt;
      literal.length = 2 + digits;
      literal.integer = *value;
      return literal;
    }
  }
  // 0 stands alone: 012 is 0, then 12.
  literal.length = whole;
  if (text[0] == '0') {
    literal.length = 1;
    while (literal.length < whole && (text[literal.length] == '0' || text[literal.length] == '_')) {
      ++literal.length;
    }
    while (text[literal.length - 1] == '_') --literal.length;
  }
  const auto value = Digits(text.substr(0, literal.length), 10, false);
  if (!value) return std::nullopt;
  literal.integer = *value;
  return literal;
}

std::optional<std::int64_t> ParseInteger(std::string_view text, int base) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  bool prefix = false;
  const int spelled = BaseOfPrefix(text);
  if (spelled != 10 && (base == 0 || base == spelled)) {
    base = spelled;
    text.remove_prefix(2);
    prefix = true;
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (text.empty() || DigitRun(text, base, prefix) != text.size()) return std::nullopt;
  return Digits(text, base, negative);
}

std::optional<double> ParseFloat(std::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  std::string name(digits);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const double sign = text.starts_with('-') ? -1 : 1;
  if (name == "inf" || name == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  const std::size_t whole = DigitRun(digits, 10, false);
  std::size_t end = whole;
  if (end < digits.size() && digits[end] == '.') {
    const std::size_t fraction = DigitRun(digits.substr(end + 1), 10, false);
    if (whole + fraction == 0) return std::nullopt;
    end += 1 + fraction;
  }
  if (end == 0 || end + Exponent(digits.substr(end)) != digits.size()) return std::nullopt;
  return ToDouble(text);
}

}  // namespace banyan::text::jinja
