// What an engine without cache, pages, batches or neighbours would answer: hashed over the whole
// sequence from its tokens alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/batch.h"
#include "scheduler/request.h"
#include "scheduler/token_stream.h"
#include "tests/sim/keeping.h"
#include "tests/sim/path.h"

namespace banyan::sim {

struct Oracle {
  std::vector<TokenId> tokens;             // prompt and answer, an end token too
  std::vector<Slot> path;                  // their slots
  std::vector<ScoredToken> prompt_scores;  // of the prompt but its first token, when it is scored
  std::vector<ScoredToken> sampled;        // what is drawn, an end token too
  scheduler::FinishReason reason = scheduler::FinishReason::kNone;  // kStop or kLength

  // Of a request that is compacted: before its token number `tokens` these positions survive.
  struct Survivors {
    std::int64_t tokens = 0;
    std::vector<std::int64_t> positions;
  };
  std::vector<Survivors> survivors;

  // The slots that its token of that number finds.
  std::vector<Slot> SlotsBefore(std::int64_t number) const;
  std::int64_t CountBefore(std::int64_t number) const;
  // Those that there are once so many tokens were computed.
  std::int64_t CountAfter(std::int64_t number) const;
  bool IsCompactedBefore(std::int64_t number) const;

 private:
  // The latest before that token; null: all are there.
  const Survivors* Latest(std::int64_t number) const;
};

Oracle Expect(const scheduler::Request& request, Realm realm, std::int64_t max_output,
              const std::optional<Keeping>& keeping = std::nullopt);

}  // namespace banyan::sim
