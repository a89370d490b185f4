// What the handlers of one server share: the loaded model's facts, the way to the engine, metrics.
//
// Thread safety: everything may be called by any thread once constructed; Publish and Drain are
// called once each, by the thread that runs the server, and Fail by the engine's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "model/model.h"
#include "radix/prefix_cache.h"
#include "scheduler/inbox.h"
#include "scheduler/scheduler.h"
#include "server/metrics.h"
#include "server/retry_after.h"
#include "text/codec.h"

namespace banyan::server {

// kFailed: what computes has failed, and only another process will do.
enum class Phase : std::uint8_t { kLoading, kReady, kFailed, kDraining };

// What requests need to know of the model that answers them. Immutable, but for the inbox.
struct ServedModel {
  model::Facts facts;
  std::unique_ptr<const text::Codec> codec;
  radix::Options cache;
  scheduler::Options scheduling;
  std::optional<scheduler::KvPolicy> kv_policy;  // of requests that say nothing of it
  scheduler::Inbox* inbox = nullptr;             // the engine's
  // Tokens that may wait for a client that does not read its stream (the default: some 10 MiB, or
  // 25 with 20 alternatives each), shared by its choices; with more it is ended. An answer that is
  // sent at once has room for all of its tokens.
  std::int64_t unread_tokens = 1 << 16;
};

class Service {
 public:
  // `clock` and `metrics` outlive the service.
  Service(std::string model_name, const Clock& clock, Metrics& metrics);

  // Loading is over: requests are taken. `model` outlives the service.
  void Publish(const ServedModel& model);
  // From now on requests are refused.
  void Drain();
  void Fail();

  Phase phase() const { return phase_.load(); }
  // Null unless the phase is kReady.
  const ServedModel* model() const;

  const std::string& model_name() const { return model_name_; }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  RetryAfter& retry_after() { return retry_after_; }
  std::int64_t started_unix() const { return started_unix_; }  // seconds since 1970
  std::int64_t NowUnix() const;

  RequestId NextRequestId() { return RequestId{next_request_.fetch_add(1)}; }
  // The id that clients and logs see, such as "chatcmpl-...": never the same in two processes.
  std::string WireId(std::string_view kind, RequestId id) const;
  // For requests that name none.
  std::uint64_t RandomSeed();

 private:
  const std::string model_name_;
  const Clock& clock_;
  Metrics& metrics_;
  const std::int64_t started_unix_;
  const Tick started_;
  const std::uint64_t process_tag_;
  RetryAfter retry_after_;
  std::atomic<Phase> phase_ = Phase::kLoading;
  std::atomic<const ServedModel*> model_ = nullptr;
  std::atomic<std::uint64_t> next_request_ = 1;
};

}  // namespace banyan::server
