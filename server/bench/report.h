// A report of kernels for people and for programs.
#pragma once

#include <string>

#include "server/bench/measurement.h"

namespace banyan::server {

std::string KernelReportAsText(const KernelReport& report);  // tables; ends in a newline
std::string KernelReportAsJson(const KernelReport& report);  // one object

}  // namespace banyan::server
