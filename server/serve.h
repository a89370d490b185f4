// `banyan serve`: the life of a server process.
//
//   listen -> load -> ready -> (SIGTERM, SIGINT) drain -> exit
//
// It listens before it loads, so that a taken port is known at once and probes are answered from
// the start. On stdout it says where it listens and when it is ready; on stderr is the log, or one
// line that says why it could not start.
#pragma once

#include "server/options.h"

namespace banyan::server {

// Returns the process's exit code: 0 after a drain, 1 when it could not start.
int Serve(const ServeOptions& options);

}  // namespace banyan::server
