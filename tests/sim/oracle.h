// What an engine without cache, pages, batches or neighbours would answer: hashed over the whole
// sequence from its tokens alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/batch.h"
#include "scheduler/request.h"
#include "scheduler/token_stream.h"
#include "tests/sim/path.h"

namespace banyan::sim {

struct Oracle {
  std::vector<TokenId> tokens;             // prompt and answer, an end token too
  std::vector<Slot> path;                  // their slots
  std::vector<ScoredToken> prompt_scores;  // of the prompt but its first token, when it is scored
  std::vector<ScoredToken> sampled;        // what is drawn, an end token too
  scheduler::FinishReason reason = scheduler::FinishReason::kNone;  // kStop or kLength
};

Oracle Expect(const scheduler::Request& request, Realm realm, std::int64_t max_output);

}  // namespace banyan::sim
