// `banyan bench kernels`: what the CPU kernels reach, beside what this machine can do.
#pragma once

#include "server/options.h"

namespace banyan::server {

// Prints on stdout. Returns the exit code: 1, and one line on stderr, where nothing can be
// measured.
int BenchKernels(const BenchKernelsOptions& options);

}  // namespace banyan::server
