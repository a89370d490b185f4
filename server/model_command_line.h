// The options of `banyan model`.
#pragma once

#include <span>

#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. ModelInfoOptions, ModelGetOptions, or Exit.
Command ParseModel(std::span<const char* const> arguments);

}  // namespace banyan::server
