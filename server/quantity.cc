#include "server/quantity.h"

#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace banyan::server {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 6> kByteUnits = {{{"", 1},
                                             {"B", 1},
                                             {"KiB", std::int64_t{1} << 10},
                                             {"MiB", std::int64_t{1} << 20},
                                             {"GiB", std::int64_t{1} << 30},
                                             {"TiB", std::int64_t{1} << 40}}};

constexpr std::array<Unit, 5> kTimeUnits = {
    {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};

absl::Status NotUnderstood(std::string_view text, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(text), "' is not ", std::string(wanted)));
}

absl::StatusOr<std::int64_t> Parse(std::string_view text, std::span<const Unit> units,
                                   std::string_view wanted) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    return absl::OutOfRangeError(absl::StrCat("'", std::string(text), "' is too large a number"));
  }
  if (error != std::errc()) return NotUnderstood(text, wanted);
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / unit.factor ||
        number < std::numeric_limits<std::int64_t>::min() / unit.factor) {
      return absl::OutOfRangeError(absl::StrCat("'", std::string(text), "' is too large a number"));
    }
    return number * unit.factor;
  }
  return NotUnderstood(text, wanted);
}

}  // namespace

absl::StatusOr<std::int64_t> ParseBytes(std::string_view text) {
  return Parse(text, kByteUnits, "a size such as 512MiB (units: B, KiB, MiB, GiB, TiB)");
}

absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const absl::StatusOr<std::int64_t> count =
      Parse(text, kTimeUnits, "a time such as 30s (units: ms, s, m, h)");
  if (!count.ok()) return count.status();
  return std::chrono::milliseconds(*count);
}

absl::StatusOr<std::int64_t> ParseInteger(std::string_view text) {
  static constexpr std::array<Unit, 1> kNone = {{{"", 1}}};
  return Parse(text, kNone, "a whole number");
}

std::string FormatBytes(std::int64_t bytes) {
  for (std::size_t i = kByteUnits.size() - 1; i >= 2; --i) {
    const Unit& unit = kByteUnits[i];
    if (bytes != 0 && bytes % unit.factor == 0) {
      return absl::StrCat(bytes / unit.factor, std::string(unit.name));
    }
  }
  return absl::StrCat(bytes, "B");
}

std::string Grouped(std::int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string RoundedBytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(Grouped(bytes), " bytes")
                   : absl::StrFormat("%.1f %s", amount, kUnits[unit]);
}

}  // namespace banyan::server
