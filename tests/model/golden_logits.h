// A model's logits against an independent implementation in float64 (tests/model/oracle/decoder.py;
// make_logits.py made the golden files and names its versions).
#pragma once

#include <string>

namespace banyan::model {

struct GoldenModel {
  std::string name;         // as ./dev where model knows it
  const char* environment;  // the variable that names its file
  std::string file;         // in tests/model/oracle
  double rms = 0;           // of the differences of all logits that are compared
  // Of a single logit. The top token must be the oracle's where that leads by more than twice this.
  double bound = 0;
};

void ExpectGoldenLogits(const GoldenModel& golden);

}  // namespace banyan::model
