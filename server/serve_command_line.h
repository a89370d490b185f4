// The options of `banyan serve`, their environment variables and the configuration file.
#pragma once

#include <span>

#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. ServeOptions, or Exit.
Command ParseServe(std::span<const char* const> arguments);

}  // namespace banyan::server
