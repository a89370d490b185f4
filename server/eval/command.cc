#include "server/eval/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/quote.h"
#include "server/eval/model_source.h"
#include "server/eval/output.h"
#include "server/eval/reading.h"
#include "server/eval/windows.h"
#include "server/fail.h"
#include "server/kv_policy.h"
#include "server/small_file.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kDefaultContext = 2048;

absl::StatusOr<std::int64_t> ContextOf(const EvalOptions& options, const model::Facts& facts) {
  if (options.context == 0) return std::min(kDefaultContext, facts.context_length);
  if (options.context <= facts.context_length) return options.context;
  return absl::InvalidArgumentError(absl::StrCat("--context: ", options.context,
                                                 " is over the model's context of ",
                                                 facts.context_length, " tokens"));
}

absl::StatusOr<std::vector<Window>> ReadWindows(const EvalOptions& options,
                                                const text::Codec& codec, std::int64_t context) {
  const auto content = ReadSmallFile(options.text, text::kMaxTextBytes);
  if (!content.ok()) return content.status();
  auto tokens = codec.Encode(*content, text::ControlTokens::kPlainText);
  if (!tokens.ok()) return tokens.status();
  const absl::StatusOr<Window> begin = BeginOfText(codec);
  if (!begin.ok()) return begin.status();
  const auto most = static_cast<std::size_t>(options.tokens);
  return CutWindows(std::span(*tokens).first(std::min(most, tokens->size())), *begin, context);
}

// What an evaluation is of, whatever the configuration.
struct Task {
  const EvalOptions& options;
  const ModelSource& source;
  std::int64_t context = 0;
  std::vector<Window> windows{};
  std::vector<PasskeyPrompt> passkeys{};
};

absl::StatusOr<EvalRow> Evaluate(const Task& task, const Configuration& configuration,
                                 EvaluatedModel exact, const EvalProgress& progress) {
  const auto model = task.source.Load(
      configuration.format, MostPages(configuration.policy, task.context, ModelSource::kPageSize),
      task.options.threads);
  if (!model.ok()) return model.status();
  const EvaluatedModel other{**model, ModelSource::kPageSize, ModelSource::kBatchTokens,
                             configuration.policy};
  const auto named = [&](const char* what) {
    return [&, what](std::int64_t done, std::int64_t all) {
      progress(absl::StrCat(configuration.name, ", ", what), done, all);
    };
  };
  EvalRow row{.configuration = configuration,
              .bytes_per_token = (*model)->facts().kv_bytes_per_token};
  auto text = CompareOverText(task.windows, exact, other, named("windows of the text"));
  if (!text.ok()) return text.status();
  auto passkeys = RetrievePasskeys(task.passkeys, task.source.codec(), other, named("passkeys"));
  if (!passkeys.ok()) return passkeys.status();
  const auto speed = MeasureDecode(task.windows.front(), other);
  if (!speed.ok()) return speed.status();
  row.text = *text;
  row.passkeys = *std::move(passkeys);
  row.speed = *speed;
  row.peak_bytes = row.text.peak_pages * static_cast<std::int64_t>((*model)->page_bytes()) +
                   (*model)->facts().kv_open_bytes;
  return row;
}

std::optional<double> LoadAverage() {
  double minute = 0;
  if (getloadavg(&minute, 1) != 1) return std::nullopt;
  return minute;
}

EvalReport Heading(const Task& task, const model::Facts& facts) {
  EvalReport report;
  report.model = task.options.model;
  report.model_name = facts.name;
  report.heads = facts.heads;
  report.kv_heads = facts.kv_heads;
  report.text = task.options.text;
  report.windows = static_cast<std::int64_t>(task.windows.size());
  report.context = static_cast<std::int64_t>(task.windows.front().size());
  report.page_size = ModelSource::kPageSize;
  report.threads = task.options.threads;
  report.cpu_variant = facts.cpu_variant;
  report.load_average = LoadAverage();
  return report;
}

// Whether this model, read in windows of that context into pages of those formats, can have the
// policies. `facts`: with exact pages.
absl::Status CheckPolicies(const Task& task, const model::Facts& facts) {
  const scheduler::Options limits{.context_length = task.context};
  const radix::Options pool{.page_size = ModelSource::kPageSize, .pages = kMaxPages};
  for (const Configuration& configuration : task.options.configurations) {
    if (!configuration.policy) continue;
    model::Facts of_pages = facts;
    of_pages.compacts = facts.compacts && !kernels::SealsPages(configuration.format);
    of_pages.kv_dtype = kernels::LayoutOf(configuration.format).name;
    const absl::Status status = CheckServable(of_pages, limits, pool, *configuration.policy);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("--configs: ", Quote(configuration.name),
                                                      ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// On a terminal, one line that is written over and over.
void ShowProgress(const std::string& what, std::int64_t done, std::int64_t all) {
  std::fprintf(stderr, "\r\033[K%s: %lld of %lld", what.c_str(), static_cast<long long>(done),
               static_cast<long long>(all));
}

}  // namespace

absl::StatusOr<EvalReport> MakeEvalReport(const EvalOptions& options,
                                          const EvalProgress& progress) {
  const absl::StatusOr<ModelSource> source = ModelSource::Open(options.model);
  if (!source.ok()) return source.status();
  const absl::StatusOr<std::int64_t> context = ContextOf(options, source->facts());
  if (!context.ok()) return context.status();
  Task task{.options = options, .source = *source, .context = *context};
  auto windows = ReadWindows(options, source->codec(), *context);
  if (!windows.ok()) {
    return absl::Status(windows.status().code(),
                        absl::StrCat("--text ", options.text, ": ", windows.status().message()));
  }
  task.windows = *std::move(windows);
  auto passkeys = PasskeyPrompts(source->codec(), PasskeyLengths(*context), options.passkeys);
  if (!passkeys.ok()) {
    return absl::Status(passkeys.status().code(),
                        absl::StrCat("--passkeys: ", passkeys.status().message()));
  }
  task.passkeys = *std::move(passkeys);
  const auto exact =
      source->Load(kernels::KvFormat::kF16,
                   MostPages(std::nullopt, *context, ModelSource::kPageSize), options.threads);
  if (!exact.ok()) return exact.status();
  if (absl::Status status = CheckPolicies(task, (*exact)->facts()); !status.ok()) return status;
  EvalReport report = Heading(task, (*exact)->facts());
  for (const Configuration& configuration : options.configurations) {
    auto row = Evaluate(task, configuration,
                        {**exact, ModelSource::kPageSize, ModelSource::kBatchTokens}, progress);
    if (!row.ok()) return row.status();
    report.rows.push_back(*std::move(row));
  }
  return report;
}

int RunEval(const EvalOptions& options) {
  // Before, and not after, minutes of work.
  for (const absl::Status& status :
       {CheckWritable(options.json), CheckWritable(options.svg), CheckWritable(options.markdown),
        CheckMarks(options.markdown)}) {
    if (!status.ok()) return Fail(status.message());
  }
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  const auto report = MakeEvalReport(
      options, is_terminal ? EvalProgress(ShowProgress)
                           : EvalProgress([](const std::string&, std::int64_t, std::int64_t) {}));
  if (is_terminal) std::fputs("\r\033[K", stderr);
  if (!report.ok()) return Fail(report.status().message());
  const int code = Print(EvalAsText(*report));
  for (const absl::Status& status :
       {WriteWhole(options.json, EvalAsJson(*report) + "\n"),
        WriteWhole(options.svg, EvalAsSvg(*report)),
        WriteBetweenMarks(options.markdown, EvalAsMarkdown(*report))}) {
    if (!status.ok()) return Fail(status.message());
  }
  return code;
}

}  // namespace banyan::server
