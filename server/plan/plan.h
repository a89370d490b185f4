// The arithmetic of `banyan plan`: what a workload takes of KV memory in each page format.
//
// What is allocated is exactly what the server allocates: whole pages, for all layers and all
// positions of a session, in a pool of whole pages, and beside it the open pages of formats that
// seal theirs. The formula is what the model needs: layers
// with a window need no more than their window, and no page has empty slots.
//
// Pure functions. All sizes are bytes, all lengths tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kv_shape.h"
#include "server/plan/subject.h"

namespace banyan::server {

struct Workload {
  std::int64_t page_size = 16;
  std::int64_t context = 0;        // of a session, its prompts and answers; 0: not asked
  std::int64_t sessions = 0;       // at once; 0: not asked
  std::int64_t shared_prefix = 0;  // the same in all sessions; < context
  std::int64_t max_running = 64;   // requests that run at once, as banyan serve takes it
  std::optional<std::int64_t> kv_memory = {};
};

// Pages of a session.
struct SessionPages {
  std::int64_t all = 0;
  std::int64_t shared = 0;  // hold nothing but shared prefix, so that all sessions read the same
  std::int64_t own = 0;     // the others
  // Beyond those, for the tokens by which the scheduler wants each running request to be able to
  // grow before it admits another. None where the context ends first.
  std::int64_t headroom = 0;
};

// The pages that a number of sessions takes.
struct PoolPages {
  std::int64_t sessions = 0;
  std::int64_t headroom = 0;
  std::int64_t all() const { return sessions + headroom; }
};

// What a given amount of memory holds.
struct Capacity {
  std::int64_t pages = 0;  // 0: the server refuses to start
  std::int64_t tokens = 0;
  std::int64_t sessions = 0;          // that share nothing
  std::int64_t sharing_sessions = 0;  // that share the prefix
};

struct FormatPlan {
  kernels::KvFormat format{};
  std::string name = {};  // of the format, as --kv-dtype takes it
  std::int64_t bytes_per_token = 0;
  std::int64_t page_bytes = 0;
  std::int64_t open_bytes = 0;  // of the open pages of all that may run, beside the pool
  // Of the bounds of a page's keys, beside the pool: as soon as requests choose pages. 0: they
  // cannot.
  std::int64_t bounds_bytes = 0;
  std::int64_t multi_head_bytes_per_token = 0;  // had each query head keys; 0: not known
  // Of a session; 0 without a context.
  std::int64_t formula_bytes = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t own_bytes = 0;        // what it does not share
  std::optional<Capacity> capacity;  // of the workload's kv_memory
};

struct Plan {
  Workload workload;
  SessionPages pages;
  // Of all sessions, apart and sharing the prefix; where both context and sessions are told.
  std::optional<PoolPages> apart, sharing;
  std::vector<FormatPlan> formats;  // that can have the shape: one or more, as kKvFormats orders
};

// kOutOfRange when a number of bytes would not fit into 63 bits, kInvalidArgument when no format's
// pages can have the shape (heads of a multiple of 8 numbers). `subject` passed CheckCacheShape;
// of the workload every number is at most 2^30 (but kv_memory), 1 <= page_size <= kMaxPageSize, and
// 1 <= max_running.
absl::StatusOr<Plan> MakePlan(const Subject& subject, const Workload& workload);

}  // namespace banyan::server
