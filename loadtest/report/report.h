// A run, for people and for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/measure/summary.h"

namespace banyan::loadtest {

// A run as it is read back from its JSON: what compare and pages need.
struct Report {
  Result result;
  Slo slo;
};

std::string Table(const Result& result,
                  const Summary& summary);  // for a terminal, at most 100 columns
std::string Json(
    const Report& report);  // the summary, and every request; docs/loadtest.md has the schema
absl::StatusOr<Report> ParseReport(std::string_view json);
std::string Csv(const Result& result);  // a line per request, RFC 4180
// One HTML file, nothing loaded from elsewhere. Of one run, or of the steps of a sweep: curves over
// all, then the last step's own.
std::string Page(const std::vector<Report>& steps);

// Writes all of it or nothing: to a temporary file beside, then renamed. The system's own words
// when it fails (a full disk, no permission).
absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace banyan::loadtest
