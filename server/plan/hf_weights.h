// How many weights a config.json describes: an estimate, because files of settings do not list
// tensors.
#pragma once

#include "server/plan/config_fields.h"
#include "server/plan/subject.h"

namespace banyan::server {

// Counts embeddings, head, attention, gated feed-forward layers, experts and norms, as a decoder of
// Llama's, Qwen's, Gemma's, Mixtral's or DeepSeek's kind has them, and fills in parameters and
// weights. Towers of other kinds (images, sound) and layers that predict further tokens are left
// out. Both stay unknown where the sizes or the number of bits are not told. `subject.shape` and
// `heads` were read, and may be wrong where config has failed.
void EstimateWeights(ConfigFields& config, Subject& subject);

}  // namespace banyan::server
