// Every family once more, in plain double arithmetic over a whole sequence: no pages, no chunks, no
// tiles, nothing rounded, and each family's peculiarities where they are computed.
#pragma once

#include <vector>

#include "base/ids.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {

// The logits after each token: [tokens][vocabulary].
std::vector<std::vector<double>> ReferenceLogits(const TinyModel& model,
                                                 const std::vector<TokenId>& tokens);

}  // namespace banyan::model
