#include "server/bench/command_line.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "server/arguments.h"
#include "server/quantity.h"
#include "server/validators.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kMinBenchMs = 10;
constexpr std::int64_t kMaxBenchMs = 600'000;

constexpr std::string_view kBenchNotes =
    "A kernel's share of the roof is the time that memory, caches and multiply-adds leave at "
    "least,\n"
    "whichever is longest, over the time it took. All of it is measured here, with made-up "
    "weights\n"
    "of which no cache holds all. `./dev bench kernels` in the source tree has repetitions and\n"
    "filters for who works on a kernel.";

}  // namespace

Command ParseBench(std::span<const char* const> arguments) {
  CLI::App app("Measures this machine.", "banyan bench");
  app.require_subcommand(1);
  CLI::App* kernels = app.add_subcommand(
      "kernels", "how near the CPU kernels come to what this machine can read and multiply");
  BenchKernelsOptions options;
  std::string threads;
  std::string variant = "auto";
  std::string time = "5s";
  bool json = false;
  bool roofs = false;
  kernels
      ->add_option("--model", options.model, "a GGUF file for its shapes (default: SmolLM2-135M's)")
      ->type_name("FILE");
  kernels->add_option("--threads", threads, std::string(kThreadsHelp))
      ->type_name("N")
      ->check(Integers(1, kMaxThreads));
  kernels->add_option("--cpu-variant", variant, "as that of banyan serve")
      ->type_name("NAME")
      ->default_str(variant)
      ->check(CpuVariant());
  kernels->add_option("--time", time, "about how long to measure, 10ms..10m (ms, s, m, h)")
      ->type_name("TIME")
      ->default_str(time)
      ->check(Durations(kMinBenchMs, kMaxBenchMs));
  kernels->add_flag("--roofs", roofs, "only what this machine can do, no kernels");
  kernels->add_flag("--json", json, "as a JSON object");
  kernels->footer(std::string(kBenchNotes));
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  options.threads = ThreadsOf(threads);
  if (variant != "auto") options.variant = variant;
  options.time = *ParseDuration(time);
  options.scope = roofs ? BenchScope::kRoofs : BenchScope::kAll;
  options.format = json ? ReportFormat::kJson : ReportFormat::kText;
  return options;
}

}  // namespace banyan::server
