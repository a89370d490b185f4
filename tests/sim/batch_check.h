// Whether a batch is legal: its budget, who is in it, which tokens, and whose pages.
#pragma once

#include <cstdint>
#include <map>

#include "model/batch.h"
#include "tests/sim/stage.h"

namespace banyan::sim {

class BatchCheck {
 public:
  explicit BatchCheck(Stage& stage) : stage_(stage) {}

  // What Next gave. Notes who was admitted or resumed. Copies are not made yet.
  void Check(const Batch& batch);
  // With the copies made: every slot that a sequence begins behind holds what it should.
  void CheckContents(const Batch& batch);

  // Those that were admitted for the first time, or again, in the latest Next.
  const std::vector<Client*>& admitted() const { return admitted_; }

 private:
  // Who may be in one page in this step.
  struct Use {
    RequestId reader = kNobody;  // of a page that is not shared
    RequestId writer = kNobody;
    std::int32_t first_written = 0;  // slot
  };

  void CheckTokens(const Client& client, const Sequence& sequence);
  void CheckQuestion(const Client& client, const Sequence& sequence);
  void Admit(Client& client, std::int64_t tokens);
  void CheckPages(const Client& client, const Sequence& sequence);
  void CheckOpenPage(const Client& client, const Sequence& sequence);
  void CheckPolicy(const Client& client, const Sequence& sequence);
  void CheckKeeping(const Client& client, const Sequence& sequence);
  void CheckCompactions(const Batch& batch);
  void CheckResumed(const Client& client, std::int64_t tokens);
  void CheckMoves(const Batch& batch);
  void CheckCopies(const Batch& batch);
  void CheckShares() const;

  Stage& stage_;
  std::vector<Client*> admitted_;
  std::map<PageId, Use> uses_;
  std::map<RequestId, std::int64_t> tokens_;  // of each, in the batch
  // Open pages of those that run and were in a batch since they were admitted.
  std::map<RequestId, std::int32_t> open_pages_;
  std::map<RequestId, std::int64_t> dropped_;  // pages, of those that run
  std::map<const PageId*, RequestId> tables_;  // whose they are, in the batch
};

}  // namespace banyan::sim
