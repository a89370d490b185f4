// The options of `banyan eval`.
#pragma once

#include <span>

#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. EvalOptions, or Exit.
Command ParseEval(std::span<const char* const> arguments);

}  // namespace banyan::server
