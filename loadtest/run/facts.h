// What a run was, in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loadtest/client/target.h"
#include "loadtest/run/run.h"

namespace banyan::loadtest {

std::vector<std::pair<std::string, std::string>> Facts(const Workload& workload,
                                                       const RunOptions& options,
                                                       const Target& target);

}  // namespace banyan::loadtest
