// The plots of a run, or of two runs in the same plots.
#pragma once

#include <string>
#include <vector>

#include "loadtest/measure/summary.h"
#include "loadtest/report/plot.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {

// A run among those that are drawn together; "" is the name of one alone. The report outlives it.
struct Side {
  std::string name;
  const Report* report = nullptr;
  Summary summary;
};

// At most two sides each.
std::vector<Plot> DistributionPlots(const std::vector<Side>& sides);
std::vector<Plot> TimelinePlots(const std::vector<Side>& sides);
std::vector<Plot> PromptPlots(const std::vector<Side>& sides);
std::vector<Plot> TurnPlots(const std::vector<Side>& sides);  // none when all have one turn

// Over the steps of a sweep, in their order.
std::vector<Plot> SweepPlots(const std::vector<Side>& steps);

// Requests a second that were to be sent after the warm-up.
double OfferedRate(const Summary& summary);

}  // namespace banyan::loadtest
