// The options of `banyan bench`.
#pragma once

#include <span>

#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. BenchKernelsOptions, or Exit.
Command ParseBench(std::span<const char* const> arguments);

}  // namespace banyan::server
