// `banyan-loadtest run`: sends a workload and says how the server did.
#pragma once

#include <CLI/App.hpp>

namespace banyan::loadtest {

// Adds the command; when it is the one that was asked for, `status` becomes the exit code.
void AddRun(CLI::App& app, int& status);

}  // namespace banyan::loadtest
