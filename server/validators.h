// What an option accepts. CLI11 checks it before a value is read, and puts the option's name before
// what is said of it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace banyan::server {

// Bounds included.
CLI::Validator Integers(std::int64_t low, std::int64_t high);
CLI::Validator Bytes(std::int64_t low, std::int64_t high);
CLI::Validator Durations(std::int64_t low_ms, std::int64_t high_ms);

// "auto", or a set of instructions that this machine runs.
CLI::Validator CpuVariant();

}  // namespace banyan::server
