// The options of `banyan plan`.
#pragma once

#include <span>

#include "server/options.h"

namespace banyan::server {

// `arguments` begin with the command's own name. PlanOptions, or Exit.
Command ParsePlan(std::span<const char* const> arguments);

}  // namespace banyan::server
