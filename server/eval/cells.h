// The figures of an evaluation as texts in tables, the same for a terminal and for a page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/eval/report.h"

namespace banyan::server {

struct Cells {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows{};  // as many in each as in `head`
};

Cells MeasureCells(const EvalReport& report);
// Keys found by length and depth; no rows where none was asked for.
Cells PasskeyCells(const EvalReport& report);
// What was measured where: ("model", "SmolLM2, 9 heads over 3 KV heads (m.gguf)").
std::vector<std::pair<std::string, std::string>> EvalFacts(const EvalReport& report);

}  // namespace banyan::server
