// What the commands of `banyan` have in common in reading their arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. Nothing, when `app` has taken them all; else the
// help or the version that was asked for, or why they are refused.
std::optional<Exit> ParseArguments(CLI::App& app, std::span<const char* const> arguments);

// One line with the reason, and with where to read on: "<reason> (see <app> --help)".
Exit Refuse(const CLI::App& app, absl::string_view reason);

inline constexpr std::string_view kThreadsHelp =
    "compute threads, 1..256 (default: the processors this process may use, by its affinity mask "
    "and its control group's quota)";
// As typed, which was validated; where nothing was, all that may be used.
std::int32_t ThreadsOf(const std::string& typed);

}  // namespace banyan::server
