// Amounts as people write them on a command line: "512MiB", "30s", "250ms".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace banyan::server {

// A whole number with an optional unit B, KiB, MiB, GiB or TiB (without one: bytes).
// kInvalidArgument says what is wrong; kOutOfRange when it does not fit.
absl::StatusOr<std::int64_t> ParseBytes(std::string_view text);

// A whole number with a unit ms, s, m or h (without one: seconds). Errors as ParseBytes.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text);

// A whole number, nothing else. Errors as ParseBytes.
absl::StatusOr<std::int64_t> ParseInteger(std::string_view text);

// The largest unit that divides `bytes` ("1GiB", "1536KiB"), as ParseBytes reads it.
std::string FormatBytes(std::int64_t bytes);

// For people: 134515008 as "134,515,008".
std::string Grouped(std::int64_t number);

// For people, with one decimal in the largest binary unit of which there is at least one:
// "93.8 MiB", "17 bytes".
std::string RoundedBytes(std::int64_t bytes);

}  // namespace banyan::server
