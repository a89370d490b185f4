#include "server/plan/report.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "server/plan/wrap.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

constexpr std::size_t kIndent = 16;

void AppendLine(std::string_view label, std::string_view text, std::string& out) {
  out += Wrapped(label, kIndent, text);
}

std::string TokensText(std::int64_t count) {
  return absl::StrCat(Grouped(count), count == 1 ? " token" : " tokens");
}
std::string SessionsText(std::int64_t count) {
  return absl::StrCat(Grouped(count), count == 1 ? " session" : " sessions");
}

std::string ModelText(const PlanReport& report) {
  const Subject& subject = report.subject;
  std::string text = subject.name.empty() ? report.source : subject.name;
  text = QuoteWhereNeeded(text);
  if (!subject.architecture.empty()) {
    absl::StrAppend(&text, " (", QuoteWhereNeeded(subject.architecture), ")");
  }
  return text;
}

std::string AttentionText(const Subject& subject) {
  const CacheShape& shape = subject.shape;
  std::string text = absl::StrCat(Grouped(shape.layers), shape.layers == 1 ? " layer" : " layers");
  if (subject.heads > 0) absl::StrAppend(&text, ", ", subject.heads, " query heads");
  if (shape.latent) {
    absl::StrAppend(&text, ", a latent of ", shape.latent->rank, " and a rotated key of ",
                    shape.latent->rope);
  } else {
    absl::StrAppend(&text, ", ", shape.kv_heads, shape.kv_heads == 1 ? " KV head" : " KV heads",
                    " of size ", shape.head_dim);
  }
  const std::string kind(AttentionOf(subject));
  return kind.empty() ? text : absl::StrCat(text, ": ", kind);
}

std::string WindowsText(const CacheShape& shape) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (const std::int64_t window : shape.windows) {
    if (window == 0) continue;
    least = least == 0 ? window : std::min(least, window);
    most = std::max(most, window);
  }
  return absl::StrCat(least < most ? absl::StrCat(Grouped(least), " to ") : std::string(),
                      TokensText(most), " in ", shape.windowed_layers(), " of ", shape.layers,
                      " layers");
}

std::string WeightsText(const Subject& subject) {
  if (!subject.weights) return "not known";
  const Weights& weights = *subject.weights;
  const std::string size = RoundedBytes(weights.bytes);
  switch (weights.from) {
    case WeightsFrom::kFile:
      return absl::StrCat(size, " as the file holds them: ", Grouped(weights.bytes), " bytes");
    case WeightsFrom::kEstimate:
      return absl::StrCat("about ", size, ": ", Grouped(subject.parameters), " parameters in ",
                          weights.dtype, ", estimated from the sizes");
    case WeightsFrom::kCommandLine:
      return absl::StrCat(size, ", as --weights tells");
  }
  return "";
}

std::string WorkloadText(const Workload& workload, std::int64_t models_context) {
  std::string text = workload.sessions > 0 ? SessionsText(workload.sessions) : "sessions";
  absl::StrAppend(&text, " of ", TokensText(workload.context),
                  workload.context == models_context ? ", the model's context" : "");
  if (workload.shared_prefix > 0) {
    absl::StrAppend(&text, ", of which the first ", Grouped(workload.shared_prefix),
                    " are the same in all");
  }
  return text;
}

std::string PagesText(const Plan& plan) {
  std::string text = absl::StrCat(TokensText(plan.workload.page_size), " each");
  if (plan.pages.all > 0) absl::StrAppend(&text, "; a session takes ", Grouped(plan.pages.all));
  if (plan.pages.shared > 0) {
    absl::StrAppend(&text, ", ", Grouped(plan.pages.shared), " of them shared");
  }
  return text;
}

// The same in all formats that have some.
std::string BoundsText(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const FormatPlan& format : plan.formats) bytes = std::max(bytes, format.bounds_bytes);
  if (bytes == 0) return "";
  return absl::StrCat(Grouped(bytes),
                      " bytes more for each page that a request with a quest policy looks at");
}

std::string PoolText(const PlanReport& report) {
  const std::string size = RoundedBytes(*report.plan.workload.kv_memory);
  if (!report.memory) return size;
  return absl::StrCat(size, ", what the weights leave of ", RoundedBytes(*report.memory));
}

void AppendHead(const PlanReport& report, std::string& out) {
  const Subject& subject = report.subject;
  const Workload& workload = report.plan.workload;
  AppendLine("model", ModelText(report), out);
  AppendLine("attention", AttentionText(subject), out);
  if (subject.shape.windowed_layers() > 0) AppendLine("windows", WindowsText(subject.shape), out);
  if (!subject.name.empty() || !subject.architecture.empty() || subject.weights) {
    AppendLine("weights", WeightsText(subject), out);
  }
  if (workload.context > 0) {
    AppendLine("workload", WorkloadText(workload, subject.context_length), out);
  }
  AppendLine("pages", PagesText(report.plan), out);
  if (const std::string text = BoundsText(report.plan); !text.empty())
    AppendLine("bounds", text, out);
  if (workload.kv_memory) AppendLine("KV pool", PoolText(report), out);
}

// A column of a table: two lines of heading, and what stands in it for a format.
struct Column {
  std::string top, bottom;
  std::function<std::string(const FormatPlan&)> cell;
};

// The formats one below the other, the columns right-aligned.
void AppendTable(const Plan& plan, const std::vector<Column>& columns, std::string& out) {
  constexpr std::size_t kGap = 3;
  std::vector<std::string> lines = {"", "format"};
  for (const FormatPlan& format : plan.formats) lines.push_back(format.name);
  for (std::string& line : lines) line.resize(std::string_view("format").size(), ' ');
  for (const Column& column : columns) {
    std::vector<std::string> cells = {column.top, column.bottom};
    for (const FormatPlan& format : plan.formats) cells.push_back(column.cell(format));
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      lines[i].append(kGap + width - cells[i].size(), ' ');
      lines[i] += cells[i];
    }
  }
  out += '\n';
  for (const std::string& line : lines) {
    absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
}

void AppendBytes(const Plan& plan, std::string& out) {
  std::vector<Column> columns = {
      {"bytes", "a token", [](const FormatPlan& f) { return Grouped(f.bytes_per_token); }},
      {"bytes", "a page", [](const FormatPlan& f) { return Grouped(f.page_bytes); }}};
  if (std::any_of(plan.formats.begin(), plan.formats.end(),
                  [](const FormatPlan& f) { return f.open_bytes > 0; })) {
    columns.push_back({"open", "pages", [](const FormatPlan& f) { return Grouped(f.open_bytes); }});
  }
  if (plan.workload.context > 0) {
    columns.push_back(
        {"a session:", "formula", [](const FormatPlan& f) { return Grouped(f.formula_bytes); }});
    columns.push_back(
        {"", "allocated", [](const FormatPlan& f) { return Grouped(f.allocated_bytes); }});
  }
  if (plan.pages.shared > 0) {
    columns.push_back(
        {"of it", "not shared", [](const FormatPlan& f) { return Grouped(f.own_bytes); }});
  }
  AppendTable(plan, columns, out);
}

void AppendCapacity(const Plan& plan, std::string& out) {
  std::vector<Column> columns = {
      {"pages", "in the pool", [](const FormatPlan& f) { return Grouped(f.capacity->pages); }},
      {"tokens", "in the pool", [](const FormatPlan& f) { return Grouped(f.capacity->tokens); }}};
  if (plan.workload.context > 0) {
    columns.push_back({"sessions that", "fit apart",
                       [](const FormatPlan& f) { return Grouped(f.capacity->sessions); }});
  }
  if (plan.pages.shared > 0) {
    columns.push_back({"sessions that", "fit sharing",
                       [](const FormatPlan& f) { return Grouped(f.capacity->sharing_sessions); }});
  }
  AppendTable(plan, columns, out);
}

void AppendPool(const Plan& plan, std::string& out) {
  const auto tokens = [&plan](const PoolPages& pool) {
    return
        [&plan, &pool](const FormatPlan&) { return Grouped(pool.all() * plan.workload.page_size); };
  };
  const auto memory = [](const PoolPages& pool) {
    return [&pool](const FormatPlan& f) {
      return FormatBytes(pool.all() * f.page_bytes + f.open_bytes);
    };
  };
  const std::string all = SessionsText(plan.workload.sessions);
  std::vector<Column> columns = {{absl::StrCat(all, " apart:"), "--kv-memory", memory(*plan.apart)},
                                 {"", "tokens", tokens(*plan.apart)}};
  if (plan.pages.shared > 0) {
    columns.push_back({"sharing:", "--kv-memory", memory(*plan.sharing)});
    columns.push_back({"", "tokens", tokens(*plan.sharing)});
  }
  AppendTable(plan, columns, out);
}

}  // namespace

std::string PlanAsText(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out;
  AppendHead(report, out);
  AppendBytes(plan, out);
  if (plan.workload.kv_memory) AppendCapacity(plan, out);
  if (plan.apart) AppendPool(plan, out);
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) out += Wrapped("note: ", 6, OnOneLine(note));
  if (!report.explanation.empty()) out += '\n';
  for (const std::string& paragraph : report.explanation) out += Wrapped("- ", 2, paragraph);
  return out;
}

}  // namespace banyan::server
