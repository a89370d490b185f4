// A plan as people and scripts read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/plan/plan.h"
#include "server/plan/subject.h"

namespace banyan::server {

struct PlanReport {
  std::string source;  // the path, or "--shape 32,8,128"
  Subject subject;
  Plan plan;
  std::optional<std::int64_t> memory;    // for weights and pages, as typed
  std::vector<std::string> notes;        // what the figures do not show
  std::vector<std::string> explanation;  // how they come about; empty: not asked for
};

std::string PlanAsText(const PlanReport& report);  // at most 100 columns; ends in a newline
std::string PlanAsJson(const PlanReport& report);  // one object

}  // namespace banyan::server
