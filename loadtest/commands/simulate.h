// `banyan-loadtest simulate`: what a workload would find in caches of several sizes.
#pragma once

#include <CLI/App.hpp>

namespace banyan::loadtest {

// Adds the command; when it is the one that was asked for, `status` becomes the exit code.
void AddSimulate(CLI::App& app, int& status);

}  // namespace banyan::loadtest
