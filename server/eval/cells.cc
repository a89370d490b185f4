#include "server/eval/cells.h"

#include <cstddef>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/quote.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

std::string FileName(const std::string& path) {
  return OnOneLine(std::filesystem::path(path).filename().string());
}

std::string Share(int found, int asked) { return absl::StrCat(found, "/", asked); }

std::string AllPasskeys(const std::vector<PasskeyResult>& results) {
  int asked = 0;
  int found = 0;
  for (const PasskeyResult& result : results) {
    asked += result.asked;
    found += result.found;
  }
  return asked == 0 ? "-" : Share(found, asked);
}

std::vector<std::string> MeasuresOf(const EvalRow& row) {
  const Quality& quality = row.text.quality;
  return {
      row.configuration.name,
      Grouped(row.bytes_per_token),
      RoundedBytes(row.peak_bytes),
      absl::StrFormat("%.1f%%", 100 * row.text.page_fill),
      absl::StrFormat("%.3f", quality.perplexity),
      absl::StrFormat("%+.3f%% +- %.3f%%", 100 * (quality.ratio - 1), 100 * quality.ratio_error),
      absl::StrFormat("%.6f", quality.mean_divergence),
      absl::StrFormat("%.6f", quality.p99_divergence),
      absl::StrFormat("%.2f%%", 100 * quality.greedy_agreement),
      AllPasskeys(row.passkeys),
      absl::StrFormat("%.1f", row.speed.tokens_per_second)};
}

}  // namespace

Cells MeasureCells(const EvalReport& report) {
  Cells cells{.head = {"pages", "bytes/token", "peak KV", "filled", "perplexity", "beside exact",
                       "mean KL", "p99 KL", "same greedy", "passkeys", "tokens/s"}};
  for (const EvalRow& row : report.rows) cells.rows.push_back(MeasuresOf(row));
  return cells;
}

Cells PasskeyCells(const EvalReport& report) {
  Cells cells{.head = {"pages", "tokens"}};
  for (const int depth : kPasskeyDepths) cells.head.push_back(absl::StrCat("at ", depth, "%"));
  for (const EvalRow& row : report.rows) {
    for (const PasskeyResult& result : row.passkeys) {
      if (result.depth == kPasskeyDepths.front()) {
        cells.rows.push_back({row.configuration.name, Grouped(result.length)});
      }
      cells.rows.back().push_back(Share(result.found, result.asked));
    }
  }
  return cells;
}

std::vector<std::pair<std::string, std::string>> EvalFacts(const EvalReport& report) {
  const EvalRow& exact = report.rows.front();
  const std::string load =
      report.load_average
          ? absl::StrFormat(", load average %.2f before it began", *report.load_average)
          : std::string();
  return {
      {"model", absl::StrCat(OnOneLine(report.model_name), ", ", report.heads, " heads over ",
                             report.kv_heads, " KV heads (", FileName(report.model), ")")},
      {"text", absl::StrCat(Grouped(exact.text.quality.tokens), " tokens predicted in ",
                            Grouped(report.windows), report.windows == 1 ? " window" : " windows",
                            " of ", Grouped(report.context), " (", FileName(report.text), ")")},
      {"exact",
       absl::StrFormat("f16 pages of %d tokens, perplexity %.3f +- %.3f", report.page_size,
                       exact.text.quality.perplexity, exact.text.quality.perplexity_error)},
      {"speed",
       absl::StrCat("one request decoding at a context of ", Grouped(exact.speed.context),
                    " tokens, the median of ", exact.speed.steps, " steps; ", report.threads,
                    report.threads == 1 ? " thread, " : " threads, ", report.cpu_variant, load)},
  };
}

}  // namespace banyan::server
