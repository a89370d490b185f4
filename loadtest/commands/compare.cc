#include "loadtest/commands/compare.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "loadtest/commands/options.h"
#include "loadtest/report/compare.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

// A million requests are a third of it.
constexpr std::size_t kMaxReportBytes = std::size_t{1} << 30;

struct CompareOptions {
  std::string a, b;
  std::string json, html;  // "": not written
  std::uint64_t seed = 1;
};

absl::StatusOr<Report> ReadReport(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWhole(path, kMaxReportBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("cannot read ", text.status().message()));
  }
  absl::StatusOr<Report> report = ParseReport(*text);
  if (!report.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no report of a run: ", report.status().message()));
  }
  auto& facts = report->result.facts;
  facts.insert(facts.begin(), {"report", path});
  return report;
}

int RunCompare(const CompareOptions& options) {
  const absl::StatusOr<Report> a = ReadReport(options.a);
  if (!a.ok()) return Fail(a.status());
  const absl::StatusOr<Report> b = ReadReport(options.b);
  if (!b.ok()) return Fail(b.status());
  const std::vector<Ratio> ratios = Compare(*a, *b, options.seed);
  const std::string table = CompareTable(*a, *b, ratios);
  bool written = Print(table);
  if (!options.json.empty()) {
    written &= WriteReport(options.json, CompareJson(*a, *b, ratios));
  }
  if (!options.html.empty()) {
    written &= WriteReport(options.html, ComparePage(*a, *b, ratios));
  }
  return written ? kExitOk : kExitUsage;
}

}  // namespace

void AddCompare(CLI::App& app, int& status) {
  CLI::App* compare = app.add_subcommand("compare", "compare the reports of two runs");
  compare->footer(
      "Prints B over A with 95% intervals (bootstrap over conversations).\n"
      "\n"
      "Example:\n"
      "  banyan-loadtest compare before.json after.json --html compare.html");
  const auto options = std::make_shared<CompareOptions>();
  compare->add_option("a", options->a, "the JSON report of a run")->required()->type_name("A.json");
  compare->add_option("b", options->b, "that of the run to compare with it")
      ->required()
      ->type_name("B.json");
  compare->add_option("--html", options->html, "write a page with both")->type_name("FILE");
  compare->add_option("--json", options->json, "write the ratios")->type_name("FILE");
  compare->add_option("--seed", options->seed, "of the bootstrap's draws")->capture_default_str();
  compare->callback([options, &status] { status = RunCompare(*options); });
}

}  // namespace banyan::loadtest
