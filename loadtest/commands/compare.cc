#include "loadtest/commands/compare.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
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

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::string text;
  std::vector<char> part(std::size_t{1} << 20);
  absl::Status status;
  while (status.ok()) {
    errno = 0;
    const std::size_t read = std::fread(part.data(), 1, part.size(), file);
    if (std::ferror(file) != 0) {
      status = absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    } else if (text.size() + read > kMaxReportBytes) {
      status = absl::InvalidArgumentError(absl::StrCat(path, " is over 1 GiB"));
    } else if (read == 0) {
      break;
    }
    text.append(part.data(), read);
  }
  std::fclose(file);
  if (!status.ok()) return status;
  return text;
}

absl::StatusOr<Report> ReadReport(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWhole(path);
  if (!text.ok()) return text.status();
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
  bool written = std::fwrite(table.data(), 1, table.size(), stdout) == table.size() &&
                 std::fflush(stdout) == 0;
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
