#include "server/eval/report.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "server/eval/cells.h"
#include "server/plan/wrap.h"

namespace banyan::server {
namespace {

namespace json = boost::json;

constexpr std::size_t kLabelColumns = 9;

// Columns as wide as what is in them; the first to the left, the others to the right.
std::string Aligned(const Cells& cells) {
  std::vector<std::size_t> widths;
  for (const std::string& title : cells.head) widths.push_back(title.size());
  for (const auto& row : cells.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&text, i == 0 ? "" : "  ", i == 0 ? row[i] + pad : pad + row[i]);
    }
    text += '\n';
  };
  add(cells.head);
  for (const auto& row : cells.rows) add(row);
  return text;
}

std::string AsMarkdown(const Cells& cells) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    text += '|';
    for (const std::string& cell : row) absl::StrAppend(&text, " ", cell, " |");
    text += '\n';
  };
  add(cells.head);
  absl::StrAppend(&text, "|---|");
  for (std::size_t i = 1; i < cells.head.size(); ++i) text += "---:|";
  text += '\n';
  for (const auto& row : cells.rows) add(row);
  return text;
}

json::string Text(const std::string& text) {
  const std::string valid = ToValidUtf8(text);
  return json::string(valid.data(), valid.size());
}

json::object RowAsJson(const EvalReport& report, const EvalRow& row) {
  const Quality& quality = row.text.quality;
  json::array passkeys;
  for (const PasskeyResult& result : row.passkeys) {
    passkeys.push_back({{"tokens", result.length},
                        {"depth_percent", result.depth},
                        {"asked", result.asked},
                        {"found", result.found}});
  }
  return {{"name", Text(row.configuration.name)},
          {"bytes_per_token", row.bytes_per_token},
          {"peak_bytes", row.peak_bytes},
          {"peak_bytes_per_token", PeakBytesPerToken(report, row)},
          {"page_fill", row.text.page_fill},
          {"perplexity", quality.perplexity},
          {"perplexity_error", quality.perplexity_error},
          {"perplexity_ratio", quality.ratio},
          {"perplexity_ratio_error", quality.ratio_error},
          {"mean_kl", quality.mean_divergence},
          {"p99_kl", quality.p99_divergence},
          {"greedy_agreement", quality.greedy_agreement},
          {"decode_tokens_per_second", row.speed.tokens_per_second},
          {"passkeys", std::move(passkeys)}};
}

}  // namespace

double PeakBytesPerToken(const EvalReport& report, const EvalRow& row) {
  return static_cast<double>(row.peak_bytes) / static_cast<double>(report.context);
}

std::string EvalAsText(const EvalReport& report) {
  std::string text;
  for (const auto& [name, fact] : EvalFacts(report)) text += Wrapped(name, kLabelColumns, fact);
  absl::StrAppend(&text, "\n", Aligned(MeasureCells(report)));
  const Cells passkeys = PasskeyCells(report);
  if (!passkeys.rows.empty()) absl::StrAppend(&text, "\n", Aligned(passkeys));
  return text;
}

std::string EvalAsMarkdown(const EvalReport& report) {
  std::string text;
  for (const auto& [name, fact] : EvalFacts(report)) {
    absl::StrAppend(&text, "- ", name, ": ", fact, "\n");
  }
  absl::StrAppend(&text, "\n", AsMarkdown(MeasureCells(report)));
  const Cells passkeys = PasskeyCells(report);
  if (!passkeys.rows.empty()) {
    absl::StrAppend(&text,
                    "\nPasskeys found, by the length of the text and where in it they were:\n\n",
                    AsMarkdown(passkeys));
  }
  return text;
}

std::string EvalAsJson(const EvalReport& report) {
  const EvalRow& exact = report.rows.front();
  json::array rows;
  for (const EvalRow& row : report.rows) rows.push_back(RowAsJson(report, row));
  json::value load = nullptr;
  if (report.load_average) load = *report.load_average;
  const json::object whole = {{"model", Text(report.model)},
                              {"model_name", Text(report.model_name)},
                              {"heads", report.heads},
                              {"kv_heads", report.kv_heads},
                              {"text", Text(report.text)},
                              {"tokens", exact.text.quality.tokens},
                              {"windows", report.windows},
                              {"context", report.context},
                              {"page_size", report.page_size},
                              {"threads", report.threads},
                              {"cpu_variant", Text(report.cpu_variant)},
                              {"load_average", std::move(load)},
                              {"decode_context", exact.speed.context},
                              {"decode_steps", exact.speed.steps},
                              {"configurations", std::move(rows)}};
  return json::serialize(whole);
}

}  // namespace banyan::server
