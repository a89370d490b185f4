// `banyan-loadtest compare`: two runs' reports, as ratios.
#pragma once

#include <CLI/App.hpp>

namespace banyan::loadtest {

// Adds the command; when it is the one that was asked for, `status` becomes the exit code.
void AddCompare(CLI::App& app, int& status);

}  // namespace banyan::loadtest
