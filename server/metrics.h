// What /metrics shows. Every family is a row of one of the three tables in metrics.cc; some rows
// are exposed a second time under the name that gateways of the field read (vllm:...).
//
// Thread-safe: each value is an atomic of prometheus-cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace banyan::server {

enum class Counter : std::uint8_t {
  kRequestsStop,
  kRequestsLength,
  kRequestsCancelled,
  kRequestsSlowReader,
  kRequestsFailed,
  kRequestsRefused,
  kRequestsShutdown,
  kPromptTokens,
  kCachedPromptTokens,
  kMissedPromptTokens,
  kComputedPromptTokens,
  kRecomputedTokens,
  kGeneratedTokens,
  kSampledTokens,
  kEvictedPages,
  kDeduplicatedPages,
  kCopiedPages,
  kDroppedByStreaming,  // by policies, in the order of scheduler::KvPolicy::Type
  kDroppedByH2o,
  kDroppedByScissorhands,
  kDroppedBySnapKv,
  kDroppedByQuest,
  kPreemptions,
  kPassedOver,
  kSteps,
  kFailedSteps,
  kDeviceFailures,
  kEnd,
};

enum class Gauge : std::uint8_t {
  kRunning,
  kWaiting,
  kFollowing,
  kPagesFree,  // the six states in the order of radix::PageState
  kPagesCopying,
  kPagesOpen,
  kPagesPrivate,
  kPagesTree,
  kPagesDetached,
  kPageBytes,
  kEvictablePages,
  kReservedPages,
  kCachedTokens,
  kTreeNodes,
  kNamespaces,
  kKvUsage,
  kReady,
  kEnd,
};

enum class Histogram : std::uint8_t {
  kQueue,
  kPrefill,
  kDecode,
  kTimeToFirstToken,
  kInterToken,
  kEndToEnd,
  kStep,
  kHitTokens,
  kPageLifetime,
  kIdleBeforeEviction,
  kReuseGap,
  kEnd,
};

class Metrics {
 public:
  // `model_name` is the label that the gateways' names carry.
  explicit Metrics(std::string model_name);
  ~Metrics();

  void Add(Counter counter, double amount = 1);
  void Set(Gauge gauge, double value);
  void Observe(Histogram histogram, double value);
  // An error answer with that `code`; codes are the few of the error table.
  void CountHttpError(std::string_view code);
  // Once, when the pool is known: vllm:cache_config_info. `dtype` is empty for pages that hold no
  // keys and values.
  void SetCacheShape(std::int32_t page_size, std::int32_t pages, const std::string& dtype);

  // The text exposition format, version 0.0.4.
  std::string Text() const;

 private:
  struct Cells;
  std::unique_ptr<Cells> cells_;
};

}  // namespace banyan::server
