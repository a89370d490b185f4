#include "loadtest/commands/calibrate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loadtest/commands/options.h"
#include "loadtest/commands/target_options.h"
#include "loadtest/run/calibration.h"
#include "loadtest/run/run.h"

namespace banyan::loadtest {
namespace {

constexpr const char* kFooter =
    "Prompts of several lengths are sent to an idle server, one by one and unknown to its cache,\n"
    "for answers of one token; then several at once, known to it, for answers of 64. The costs\n"
    "are fitted to the times (least squares of relative errors, none negative), and printed as\n"
    "the JSON that `banyan-loadtest simulate --costs FILE` reads. Times and fit go to stderr.\n"
    "\n"
    "Example:\n"
    "  banyan-loadtest calibrate http://127.0.0.1:8080 --step-tokens 256 > costs.json";
constexpr std::int64_t kDecodedTokens = 64;

struct Options {
  TypedTarget target;
  std::vector<std::int64_t> lengths = {32, 64, 128, 256, 512, 1024};
  std::vector<std::int32_t> rows = {1, 2, 4, 8};
  std::int32_t repeats = 3;
  std::int64_t step_tokens = 256;
};

// Conversations of one request; the key of each is its own.
Workload Prompts(std::int64_t tokens, std::int32_t count, std::int64_t output_tokens,
                 std::uint64_t first_key) {
  Workload workload;
  workload.source = "calibration";
  for (std::int32_t i = 0; i < count; ++i) {
    Turn turn;
    turn.output_tokens = output_tokens;
    turn.messages.resize(1);
    turn.messages[0].segments = {
        {first_key + static_cast<std::uint64_t>(i), static_cast<std::int32_t>(tokens)}};
    workload.conversations.push_back({absl::StrCat(i), {turn}});
  }
  return workload;
}

std::int64_t Median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Calibration {
 public:
  Calibration(const Options& options, TargetOptions target) : options_(options) {
    run_.target = std::move(target);
    run_.metrics_every = Tick(0);
    // Another run's prompts may still be cached.
    std::random_device random;
    next_key_ = (std::uint64_t{random()} << 32) | random();
  }

  absl::StatusOr<CostModel> Measure() {
    for (const std::int64_t length : options_.lengths) {
      const absl::Status status = MeasurePrefill(length);
      if (!status.ok()) return status;
    }
    for (const std::int64_t length : options_.lengths) {
      for (const std::int32_t rows : options_.rows) {
        const absl::Status status = MeasureDecode(length, rows);
        if (!status.ok()) return status;
      }
    }
    const CostModel cost = FitCosts(observations_);
    Show(cost);
    return cost;
  }

 private:
  // A single token may be no text, so an empty answer is one.
  absl::StatusOr<Result> Ask(const Workload& workload, std::int32_t concurrency) {
    run_.concurrency = concurrency;
    absl::StatusOr<Result> result = Run(workload, run_, stop_, nullptr);
    if (!result.ok()) return result;
    for (const Record& record : result->records) {
      if (record.outcome == Outcome::kOk || record.outcome == Outcome::kEmpty) continue;
      return absl::InternalError(
          absl::StrCat("a request failed: ",
                       record.error.empty() ? std::string(Name(record.outcome)) : record.error));
    }
    return result;
  }

  absl::Status MeasurePrefill(std::int64_t length) {
    const Workload workload = Prompts(length, options_.repeats, 1, next_key_);
    next_key_ += workload.conversations.size();
    const absl::StatusOr<Result> result = Ask(workload, 1);
    if (!result.ok()) return result.status();
    std::vector<std::int64_t> times;
    std::int64_t tokens = length;
    for (const Record& record : result->records) {
      times.push_back(record.latency().count());  // its only token is its first
      if (record.prompt_tokens > 0) {
        tokens = record.prompt_tokens - std::max<std::int64_t>(record.cached_tokens, 0);
      }
    }
    Add(absl::StrFormat("prefill of %d tokens", tokens),
        PrefillTime(tokens, options_.step_tokens, Tick(std::max<std::int64_t>(Median(times), 1))));
    return absl::OkStatus();
  }

  // The prompts are put into the cache first, so that answers run beside each other, and not beside
  // prefills.
  absl::Status MeasureDecode(std::int64_t length, std::int32_t rows) {
    const absl::StatusOr<Result> known = Ask(Prompts(length, rows, 1, next_key_), rows);
    if (!known.ok()) return known.status();
    const absl::StatusOr<Result> result =
        Ask(Prompts(length, rows, kDecodedTokens, next_key_), rows);
    if (!result.ok()) return result.status();
    next_key_ += static_cast<std::uint64_t>(rows);
    const std::int64_t gap = std::max<std::int64_t>(result->inter_token.Quantile(0.5), 1);
    const double context = static_cast<double>(length) + static_cast<double>(kDecodedTokens) / 2;
    Add(absl::StrFormat("a token of each of %d answers behind %d tokens", rows, length),
        DecodeTime(rows, context, Tick(gap)));
    return absl::OkStatus();
  }

  void Show(const CostModel& cost) const {
    double errors = 0;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const double measured = observations_[i].nanoseconds;
      const double predicted = Predict(cost, observations_[i]);
      errors += std::abs(predicted / measured - 1);
      std::fprintf(stderr, "%s: %.3f ms, by the costs %.3f ms\n", names_[i].c_str(),
                   measured * 1e-6, predicted * 1e-6);
    }
    std::fprintf(stderr, "the costs are off by %.1f%% in the mean\n",
                 100 * errors / static_cast<double>(observations_.size()));
  }

  void Add(std::string name, const Observation& observation) {
    names_.push_back(std::move(name));
    observations_.push_back(observation);
  }

  const Options& options_;
  RunOptions run_;
  const std::atomic<bool> stop_{false};
  std::uint64_t next_key_ = 0;
  std::vector<std::string> names_;
  std::vector<Observation> observations_;
};

int Calibrate(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<TargetOptions> target = ReadTarget(options.target);
  if (!target.ok()) return Fail(target.status());
  Calibration calibration(options, *std::move(target));
  const absl::StatusOr<CostModel> cost = calibration.Measure();
  if (!cost.ok()) {
    const int code = Fail(cost.status());
    if (absl::IsUnavailable(cost.status())) return kExitUnreachable;
    return absl::IsInternal(cost.status()) ? kExitFailures : code;
  }
  return Print(Json(*cost) + "\n") ? kExitOk : kExitUsage;
}

}  // namespace

void AddCalibrate(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("calibrate", "measure what a server's steps cost");
  command->footer(kFooter);
  const auto options = std::make_shared<Options>();
  options->target.api = "completions";
  AddTargetOptions(*command, options->target);
  command->add_option("--lengths", options->lengths, "of prompts, in tokens")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--rows", options->rows, "answers at once")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "of every prefill; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--step-tokens", options->step_tokens,
                   "of a prompt that one step of the server takes (its --max-batch-tokens)")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->callback([options, &status] { status = Calibrate(*options); });
}

}  // namespace banyan::loadtest
