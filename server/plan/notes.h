// What the reader of a plan should know that its figures do not show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/plan/plan.h"
#include "server/plan/subject.h"

namespace banyan::server {

// Where the server allocates more than the formula, refuses what was planned, or was not asked.
// `memory` is what was given for weights and pages together.
std::vector<std::string> NotesOn(const Subject& subject, const Plan& plan,
                                 std::optional<std::int64_t> memory);

}  // namespace banyan::server
