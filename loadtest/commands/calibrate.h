// `banyan-loadtest calibrate`: measures what a server's steps cost, for `simulate`.
#pragma once

#include <CLI/App.hpp>

namespace banyan::loadtest {

// Adds the command; when it is the one that was asked for, `status` becomes the exit code.
void AddCalibrate(CLI::App& app, int& status);

}  // namespace banyan::loadtest
