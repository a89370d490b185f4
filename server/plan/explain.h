// How the figures of a plan come about, with their numbers in them.
#pragma once

#include <string>
#include <vector>

#include "server/plan/plan.h"
#include "server/plan/subject.h"

namespace banyan::server {

// A paragraph each.
std::vector<std::string> Explain(const Subject& subject, const Plan& plan);

}  // namespace banyan::server
