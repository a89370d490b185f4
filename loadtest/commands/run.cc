#include "loadtest/commands/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loadtest/commands/options.h"
#include "loadtest/commands/progress_line.h"
#include "loadtest/commands/run_options.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

constexpr std::int32_t kDefaultConcurrency = 8;

constexpr const char* kFooter =
    "Exit codes: 0 all went well; 1 options, or a file that cannot be read or written;\n"
    "2 the server never answered; 3 some requests failed; 130 interrupted.\n"
    "\n"
    "Examples:\n"
    "  banyan-loadtest run http://127.0.0.1:8080 --concurrency 16 --duration 1m\n"
    "  banyan-loadtest run http://127.0.0.1:8080 --trace conversation_trace.jsonl \\\n"
    "      --scale-lengths 0.05 --time-scale 2 --html run.html\n"
    "  banyan-loadtest run http://127.0.0.1:8080 --sweep concurrency=1,2,4,8,16 --slo ttft=500ms";

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The first Ctrl-C ends the run, a second one the process.
void OnInterrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

int ExitOf(const Result& result) {
  if (result.interrupted) return kExitInterrupted;
  bool failed = false;
  bool answered = result.records.empty();
  for (const Record& record : result.records) {
    failed = failed || record.outcome != Outcome::kOk;
    answered = answered || record.status != 0 || record.outcome == Outcome::kInterrupted;
  }
  if (!answered) return kExitUnreachable;
  return failed ? kExitFailures : kExitOk;
}

// When nothing is said about the load: as the source says, or else a closed loop.
void ChooseLoad(const RunCommand& command, const Workload& workload, RunOptions& options) {
  if (!command.keep_times || command.sweep) return;
  const bool timed =
      std::all_of(workload.conversations.begin(), workload.conversations.end(),
                  [](const Conversation& one) { return one.turns.front().at.has_value(); });
  if (!timed) options.concurrency = kDefaultConcurrency;
}

absl::StatusOr<Result> RunOnce(const RunCommand& command, Workload& workload,
                               const RunOptions& options, const ArrivalOptions& arrivals,
                               const std::string& load) {
  if (options.concurrency == 0) {
    if (arrivals.arrivals == Arrivals::kTrace && arrivals.ramp > Tick(0)) {
      return absl::InvalidArgumentError(
          "--ramp goes with --rate or --concurrency, not with the source's own times");
    }
    const absl::Status status = SetArrivals(arrivals, workload);
    if (!status.ok()) return status;
  }
  absl::StatusOr<Result> result =
      Run(workload, options, interrupted, command.quiet ? nullptr : ShowProgress);
  if (!command.quiet) EndProgress();
  if (result.ok() && !load.empty()) {
    result->facts.emplace_back("load", load);
  }
  return result;
}

std::string LoadText(const RunCommand& command, const ArrivalOptions& arrivals) {
  if (command.run.concurrency > 0 || arrivals.arrivals == Arrivals::kTrace) return "";
  std::string text = absl::StrFormat("%g conversations a second", arrivals.rate);
  if (arrivals.arrivals == Arrivals::kPoisson) text += ", Poisson";
  if (arrivals.arrivals == Arrivals::kConstant) text += ", equal gaps";
  if (arrivals.arrivals == Arrivals::kGamma) {
    absl::StrAppendFormat(&text, ", gamma with shape %g", arrivals.burstiness);
  }
  return text;
}

// "run.json" of the step 8 over concurrency: "run-concurrency-8.json".
std::string StepPath(const std::string& path, std::string_view over, double load) {
  if (path.empty()) return path;
  const std::string step = absl::StrFormat("-%s-%g", std::string(over), load);
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  if (!has_ending) return path + step;
  return path.substr(0, dot) + step + path.substr(dot);
}

// The reports that programs read, of each run one. False when one could not be written.
bool WriteData(const std::string& json, const std::string& csv, const Report& report) {
  bool written = true;
  if (!json.empty()) written &= WriteReport(json, Json(report));
  if (!csv.empty()) written &= WriteReport(csv, Csv(report.result));
  return written;
}

bool WritePage(const std::string& html, const std::vector<Report>& steps) {
  return html.empty() || WriteReport(html, Page(steps));
}

int FailedToRun(const absl::Status& status) {
  Fail(status);
  if (absl::IsUnavailable(status)) return kExitUnreachable;
  return absl::IsCancelled(status) ? kExitInterrupted : kExitUsage;
}

int RunSingle(const RunCommand& command, Workload workload) {
  RunOptions options = command.run;
  ChooseLoad(command, workload, options);
  const absl::StatusOr<Result> result =
      RunOnce(command, workload, options, command.arrivals, LoadText(command, command.arrivals));
  if (!result.ok()) return FailedToRun(result.status());
  const bool printed = Print(Table(*result, Summarize(*result, command.slo)));
  const int code = ExitOf(*result);
  const Report report{*result, command.slo};
  bool written = WriteData(command.json, command.csv, report);
  written &= WritePage(command.html, {report});
  return code == kExitOk && !(printed && written) ? kExitUsage : code;
}

// One step of a sweep, on words that the steps before have not put into the cache.
absl::StatusOr<Result> RunStep(const RunCommand& command, Workload workload, double load,
                               std::uint64_t salt) {
  RunOptions options = command.run;
  ArrivalOptions arrivals = command.arrivals;
  Salt(salt, workload);
  if (command.sweep->over == Sweep::Over::kConcurrency) {
    options.concurrency = static_cast<std::int32_t>(load);
    return RunOnce(command, workload, options, arrivals, "");
  }
  arrivals.rate = load;
  return RunOnce(command, workload, options, arrivals, LoadText(command, arrivals));
}

int RunSweep(const RunCommand& command, const Workload& workload) {
  const std::string_view over = Name(command.sweep->over);
  std::vector<SweepStep> steps;
  std::vector<Report> reports;
  bool written = true;
  int code = kExitOk;
  std::string knee;
  for (const double load : command.sweep->loads) {
    absl::StatusOr<Result> result = RunStep(command, workload, load, steps.size());
    if (!result.ok()) {
      code = std::max(code, FailedToRun(result.status()));
      break;  // what the steps before measured is shown
    }
    code = std::max(code, ExitOf(*result));
    reports.push_back({*std::move(result), command.slo});
    written &= WriteData(StepPath(command.json, over, load), StepPath(command.csv, over, load),
                         reports.back());
    steps.push_back({load, Summarize(reports.back().result, command.slo)});
    if (interrupted) break;
    knee = KneeReason(steps, command.slo);
    if (!knee.empty()) break;
  }
  if (steps.empty()) return code;
  std::string table = SweepTable(command.sweep->over, steps, command.slo);
  if (!knee.empty()) absl::StrAppend(&table, "The knee: ", knee, ".\n");
  const bool printed = Print(table);
  written &= WritePage(command.html, reports);
  return code == kExitOk && !(printed && written) ? kExitUsage : code;
}

int RunCommandLine(const TypedRun& typed) {
  const absl::StatusOr<RunCommand> command = ReadRun(typed);
  if (!command.ok()) return Fail(command.status());
  absl::StatusOr<Workload> workload = MakeWorkload(command->workload);
  if (!workload.ok()) return Fail(workload.status());
  ShowBadLines(*workload);
  RaiseFileLimit();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  return command->sweep ? RunSweep(*command, *workload) : RunSingle(*command, *std::move(workload));
}

}  // namespace

void AddRun(CLI::App& app, int& status) {
  CLI::App* run = app.add_subcommand("run", "send a workload to a server, and measure it");
  run->footer(kFooter);
  const auto typed = std::make_shared<TypedRun>();
  AddRunOptions(*run, *typed);
  run->callback([typed, &status] { status = RunCommandLine(*typed); });
}

}  // namespace banyan::loadtest
