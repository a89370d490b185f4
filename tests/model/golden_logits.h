// A model's logits against an independent implementation in float64 (tests/model/oracle/decoder.py;
// make_logits.py made the golden files and names its versions).
#pragma once

#include <cstddef>
#include <string>

#include "model/model.h"

namespace banyan::model {

struct GoldenModel {
  std::string name;         // as ./dev where model knows it
  const char* environment;  // the variable that names its file
  std::string file;         // in tests/model/oracle
  double rms = 0;           // of the differences of all logits that are compared
  // Of a single logit. The top token must be the oracle's where that leads by more than twice this.
  double bound = 0;
  int decided = 8;  // at least so often
  Backend backend = Backend::kCpu;
  std::size_t prompts = 12;  // the file's first
};

void ExpectGoldenLogits(const GoldenModel& golden);

}  // namespace banyan::model
