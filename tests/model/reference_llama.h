// The llama architecture once more, in plain double arithmetic over a whole sequence: no pages, no
// chunks, no tiles, nothing rounded.
#pragma once

#include <vector>

#include "base/ids.h"
#include "tests/model/tiny_llama.h"

namespace banyan::model {

// The logits after each token: [tokens][vocabulary].
std::vector<std::vector<double>> ReferenceLogits(const TinyLlama& llama,
                                                 const std::vector<TokenId>& tokens);

}  // namespace banyan::model
