#include "loadtest/commands/workload_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "loadtest/commands/options.h"
#include "loadtest/run/sweep.h"

namespace banyan::loadtest {
namespace {

constexpr const char* kTraceGroup = "Workload: a trace";
constexpr const char* kGeneratorGroup = "Workload: the generator (without --trace)";
constexpr const char* kFitGroup = "Workload: fitted";

// "MEDIAN" or "MEDIAN,SIGMA".
void AddLengths(CLI::App& app, const std::string& name, LengthDistribution& lengths,
                const std::string& help) {
  auto set = [&lengths](const std::string& text) {
    const std::vector<std::string> parts = absl::StrSplit(text, ',');
    LengthDistribution parsed{0, 0};
    if (parts.size() > 2 || !absl::SimpleAtod(parts[0], &parsed.median) ||
        (parts.size() == 2 && !absl::SimpleAtod(parts[1], &parsed.sigma))) {
      throw CLI::ValidationError("'" + text + "' is not MEDIAN or MEDIAN,SIGMA");
    }
    lengths = parsed;
  };
  app.add_option_function<std::string>(name, set, help)
      ->type_name("MEDIAN[,SIGMA]")
      ->group(kGeneratorGroup);
}

void AddTrace(CLI::App& app, WorkloadOptions& options) {
  app.add_option("--trace", options.trace, "a trace or dataset, perhaps .gz or .xz")
      ->type_name("FILE")
      ->group(kTraceGroup);
  app.add_option("--trace-format", options.format,
                 "auto, mooncake, bailian, azure, burstgpt, sharegpt, wildchat or aiperf")
      ->group(kTraceGroup);
  app.add_flag("--skip-bad-lines", options.skip_bad_lines,
               "leave out lines that cannot be read, and list them; else the first is fatal")
      ->group(kTraceGroup);
  app.add_option("--trace-requests", options.max_requests, "only the first so many")
      ->group(kTraceGroup);
}

void AddGenerator(CLI::App& app, GeneratorOptions& generator) {
  const auto add = [&app](const std::string& name, auto& target, const std::string& help) {
    app.add_option(name, target, help)->capture_default_str()->group(kGeneratorGroup);
  };
  app.add_flag_callback(
         "--generate", [] {}, "make a workload; so it is without --trace")
      ->excludes("--trace")
      ->group(kGeneratorGroup);
  add("--seed", generator.seed, "another seed is another workload");
  add("--tenants", generator.tenants, "who share nothing but --shared-tokens");
  add("--personas", generator.personas, "system prompts of each tenant");
  add("--conversations", generator.conversations, "in all");
  add("--turns", generator.turns, "of each conversation");
  app.add_flag("--turns-vary", generator.turns_vary, "--turns is a mean (geometric)")
      ->group(kGeneratorGroup);
  add("--zipf", generator.zipf, "popularity of tenants and personas: 1/rank^this");
  add("--shared-tokens", generator.shared_tokens, "that begin every prompt");
  AddLengths(app, "--persona-tokens", generator.persona, "of a system prompt, log-normal (400)");
  AddLengths(app, "--question-tokens", generator.question, "of a question (40,0.6)");
  AddLengths(app, "--answer-tokens", generator.answer, "of an answer (64,0.6)");
  AddTime(app, "--think", generator.think, "mean time between an answer and the next question")
      ->group(kGeneratorGroup);
}

void AddFit(CLI::App& app, WorkloadOptions& options) {
  app.add_option("--salt", options.salt,
                 "another number asks alike with other words, which no cache knows; text is left")
      ->group(kFitGroup);
  app.add_option("--scale-lengths", options.fit.lengths, "all lengths times this")
      ->group(kFitGroup);
  app.add_option("--max-prompt-tokens", options.fit.max_prompt_tokens, "longer prompts are cut")
      ->group(kFitGroup);
  app.add_option("--max-output-tokens", options.fit.max_output_tokens, "longer answers are cut")
      ->group(kFitGroup);
  app.add_option("--time-scale", options.fit.times, "all times of the source times this")
      ->group(kFitGroup);
}

}  // namespace

void AddWorkloadOptions(CLI::App& app, WorkloadOptions& options) {
  AddTrace(app, options);
  AddGenerator(app, options.generator);
  AddFit(app, options);
}

absl::StatusOr<Workload> MakeWorkload(const WorkloadOptions& options) {
  absl::StatusOr<Workload> workload = absl::UnknownError("");
  if (options.trace.empty()) {
    workload = Generate(options.generator);
  } else {
    const absl::StatusOr<TraceFormat> format = ParseTraceFormat(options.format);
    if (!format.ok()) return format.status();
    TraceOptions trace;
    trace.format = *format;
    trace.bad_lines =
        options.skip_bad_lines ? TraceOptions::BadLines::kSkip : TraceOptions::BadLines::kFatal;
    trace.max_requests = options.max_requests;
    workload = ReadTrace(options.trace, trace);
  }
  if (!workload.ok()) return workload.status();
  Salt(options.salt, *workload);
  const absl::Status fitted = Apply(options.fit, *workload);
  if (!fitted.ok()) return fitted;
  return workload;
}

void ShowBadLines(const Workload& workload) {
  for (const BadLine& bad : workload.bad_lines) {
    std::fprintf(stderr, "skipped line %lld: %s\n", static_cast<long long>(bad.line),
                 bad.why.c_str());
  }
}

}  // namespace banyan::loadtest
