// A whole engine without a model: scheduler, tree and page pool driven step by step under a fake
// clock, with every answer read back from its stream and every observer call written down.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/answer.h"
#include "tests/scheduler/fake_model.h"
#include "tests/scheduler/oracle.h"

namespace banyan::scheduler {

struct EngineOptions {
  std::int32_t page_size = 4;
  std::int32_t pages = 64;
  std::int32_t max_batch_tokens = 16;
  std::int32_t mixed_prefill_tokens = std::numeric_limits<std::int32_t>::max();
  std::int32_t max_running = 4;
  std::int64_t context_length = 10'000;
  PrefixCaching prefix_caching = PrefixCaching::kOn;
  std::int32_t max_passes = 16;
  Tick ageing = std::chrono::seconds(10);
  std::int32_t quantum = 1024;
  std::int32_t headroom_tokens = 64;
  // kPages: of a model that seals its pages.
  radix::Sharing sharing = radix::Sharing::kSlots;
  std::int64_t max_pages_aside = 1024;
};

class Engine : public Observer {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine() override;

  RequestId Submit(Ask ask);
  RequestId Submit(std::vector<TokenId> prompt, std::int64_t max_tokens);
  void Cancel(RequestId request);
  void StopString(RequestId request, std::int64_t output_tokens);

  // One step: Begin and End. False when there was nothing to run.
  bool Step();
  bool FailStep();
  // Until nothing is left to do; at most `bound` steps.
  void Run(int bound = 10'000);

  const Batch& Begin();  // Next
  void End();            // Forward, Complete, read the streams, check the invariants
  void EndFailed();

  // Destroys the scheduler.
  void ShutDown();

  void Advance(Tick by) { clock_.Advance(by); }
  void ReadStreams();
  void CheckInvariants() const;

  // What the latest Begin gave.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  std::vector<PageCopy> copies() const { return copies_; }

  Answer& operator[](RequestId request) { return answers_.at(request); }
  const std::map<RequestId, Answer>& answers() const { return answers_; }
  Scheduler& scheduler() { return *scheduler_; }
  radix::PrefixCache& cache() { return cache_; }
  FakeModel& model() { return model_; }

  // Leading tokens of `path` that are cached; checks that their pages really hold them.
  std::int64_t Cached(const std::vector<TokenId>& path, const std::string& cache_salt = "");
  // Pages that are neither free nor in the tree without a pin.
  std::int64_t HeldPages() const;

 private:
  void OnAdmitted(const Request& request, const Admission& admission) override;
  void OnPreempted(const Request& request, std::int64_t output_tokens) override;
  void OnFirstToken(const Request& request, Tick since_submit) override;
  void OnToken(const Request& request, Tick since_last) override;
  void OnFinished(const Request& request, FinishReason reason, const Usage& usage,
                  Tick since_submit) override;
  void CheckSequence(const Sequence& sequence) const;
  void Return(const StepResult& result);

  const EngineOptions options_;
  FakeClock clock_;
  radix::PrefixCache cache_;
  FakeModel model_;
  std::map<RequestId, Answer> answers_;
  std::uint64_t next_id_ = 1;
  const Batch* batch_ = nullptr;
  std::vector<Chunk> chunks_;
  std::vector<PageCopy> copies_;
  std::unique_ptr<Scheduler> scheduler_;  // last: it still tells the others when it goes
};

}  // namespace banyan::scheduler
