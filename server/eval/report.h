// An evaluation as people, pages and scripts read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/eval/configuration.h"
#include "server/eval/measure.h"
#include "server/eval/passkey.h"

namespace banyan::server {

struct EvalRow {
  Configuration configuration;
  std::int64_t bytes_per_token = 0;  // of a page
  std::int64_t peak_bytes = 0;       // of the pages that held tokens of one window, an open one too
  TextResult text{};
  DecodeSpeed speed{};
  std::vector<PasskeyResult> passkeys{};
};

struct EvalReport {
  std::string model;  // the file's path
  std::string model_name;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::string text;  // the file's path
  std::int64_t windows = 0;
  std::int64_t context = 0;  // tokens of a window
  std::int32_t page_size = 0;
  std::int32_t threads = 0;
  std::string cpu_variant;
  // Of the last minute before it began, where the machine tells it: speeds are of a busy machine
  // when it is far from 0.
  std::optional<double> load_average;
  std::vector<EvalRow> rows;  // exact f16 first
};

// Peak bytes over the tokens of the longest window: what the plot sets quality against.
double PeakBytesPerToken(const EvalReport& report, const EvalRow& row);

std::string EvalAsText(const EvalReport& report);      // ends in a newline
std::string EvalAsMarkdown(const EvalReport& report);  // ends in a newline
std::string EvalAsJson(const EvalReport& report);      // one object
std::string EvalAsSvg(const EvalReport& report);       // a file of its own, for light and dark

}  // namespace banyan::server
