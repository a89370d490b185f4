#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "absl/strings/numbers.h"
#include "loadtest/client/target.h"

namespace banyan::loadtest {
namespace {

// The names of one figure, the surest first: a server may have several of them.
struct Figure {
  double ServerSample::*member;
  std::array<std::string_view, 4> names;
  enum class Several : std::uint8_t { kSum, kMean } several;  // of one name, with other labels
};

constexpr std::array<Figure, 5> kFigures = {{
    {&ServerSample::pool_use,
     {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage",
      "llamacpp:kv_cache_usage_ratio"},
     Figure::Several::kMean},
    {&ServerSample::running,
     {"vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"},
     Figure::Several::kSum},
    {&ServerSample::waiting,
     {"vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"},
     Figure::Several::kSum},
    {&ServerSample::prefix_queries,
     {"vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries",
      "vllm:gpu_prefix_cache_queries_total", "sglang:prompt_tokens_total"},
     Figure::Several::kSum},
    {&ServerSample::prefix_hits,
     {"vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total",
      "sglang:cached_tokens_total"},
     Figure::Several::kSum},
}};

struct Found {
  double sum = 0;
  int count = 0;
};

// `name{labels} value [timestamp]`
struct Line {
  std::string_view name;
  double value = 0;
};

std::optional<Line> ParseLine(std::string_view line) {
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == 0 || name_end == std::string_view::npos || line.front() == '#') {
    return std::nullopt;
  }
  // A label's value may hold a brace and an escaped quote: the labels end outside of quotes.
  std::size_t at = name_end;
  if (line[at] == '{') {
    bool quoted = false;
    while (++at < line.size() && (quoted || line[at] != '}')) {
      if (line[at] == '\\')
        ++at;
      else if (line[at] == '"')
        quoted = !quoted;
    }
    if (at >= line.size()) return std::nullopt;
    ++at;
  }
  std::string_view rest = line.substr(at);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  rest = rest.substr(0, rest.find_first_of(" \r"));
  Line parsed{line.substr(0, name_end), 0};
  if (!absl::SimpleAtod({rest.data(), rest.size()}, &parsed.value)) return std::nullopt;
  return parsed;
}

double Value(const Figure& figure, std::span<const Found> found) {
  for (const Found& one : found) {
    if (one.count == 0) continue;
    return figure.several == Figure::Several::kMean ? one.sum / one.count : one.sum;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

ServerSample ParseMetrics(std::string_view page) {
  std::array<std::array<Found, 4>, kFigures.size()> found{};
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::optional<Line> line = ParseLine(page.substr(0, end));
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    if (!line || std::isnan(line->value)) continue;
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      for (std::size_t j = 0; j < kFigures[i].names.size(); ++j) {
        if (kFigures[i].names[j] != line->name) continue;
        found[i][j].sum += line->value;
        ++found[i][j].count;
      }
    }
  }
  ServerSample sample;
  for (std::size_t i = 0; i < kFigures.size(); ++i) {
    sample.*kFigures[i].member = Value(kFigures[i], found[i]);
  }
  return sample;
}

}  // namespace banyan::loadtest
