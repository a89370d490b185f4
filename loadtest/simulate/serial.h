// The mode without concurrency. Internal to this folder.
#pragma once

#include "loadtest/simulate/simulate.h"

namespace banyan::loadtest {

SimulatedRow SimulateSerial(const Workload& workload, const SimulateOptions& options);

}  // namespace banyan::loadtest
