// Amounts that an option accepts, bounds included. CLI11 checks them before a value is read, and
// puts the option's name before what they say.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace banyan::server {

CLI::Validator Integers(std::int64_t low, std::int64_t high);
CLI::Validator Bytes(std::int64_t low, std::int64_t high);
CLI::Validator Durations(std::int64_t low_ms, std::int64_t high_ms);

}  // namespace banyan::server
