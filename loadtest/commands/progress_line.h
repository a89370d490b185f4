// What `run` shows on stderr while it lasts.
#pragma once

#include <string>

#include "loadtest/run/run.h"

namespace banyan::loadtest {

// "12s  sent 340/1000  ..."; at most 100 columns.
std::string ProgressLine(const Progress& progress);

// On a terminal the line before is overwritten; elsewhere each has a line of its own.
void ShowProgress(const Progress& progress);
void EndProgress();  // a terminal goes on below

}  // namespace banyan::loadtest
