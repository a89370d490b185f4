// `banyan model info FILE`: what a model file is, and whether it will run. No weight is read.
#pragma once

#include <string>

#include "server/model_report.h"
#include "server/options.h"

namespace banyan::server {

// Prints on stdout. Returns the exit code: 0 also for a model that will not run (the answer says
// so), 1 for a file that cannot be read as a model: one line on stderr, or {"error": ...} on
// stdout.
int ModelInfo(const ModelInfoOptions& options);

std::string ReportAsText(const ModelReport& report);  // a table for people; ends in a newline
std::string ReportAsJson(const ModelReport& report);  // one object

}  // namespace banyan::server
