#include "server/plan/plan.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/limits.h"
#include "kernels/bounds_bytes.h"
#include "model/kv_pool.h"
#include "scheduler/scheduler.h"

namespace banyan::server {
namespace {

using kernels::KvFormat;

std::int64_t PagesFor(std::int64_t tokens, std::int64_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

SessionPages PagesOf(const Subject& subject, const Workload& workload) {
  SessionPages pages;
  pages.all = PagesFor(workload.context, workload.page_size);
  pages.shared = workload.shared_prefix / workload.page_size;
  pages.own = pages.all - pages.shared;
  std::int64_t grown = workload.context + scheduler::Options().headroom_tokens;
  if (subject.context_length > 0) {
    grown = std::min(grown, std::max(subject.context_length, workload.context));
  }
  pages.headroom = PagesFor(grown, workload.page_size) - pages.all;
  return pages;
}

PoolPages PoolOf(const SessionPages& pages, std::int64_t shared, std::int64_t sessions) {
  // Alone a request is admitted without headroom.
  return {.sessions = shared + sessions * (pages.all - shared),
          .headroom = sessions > 1 ? sessions * pages.headroom : 0};
}

// How many layers hold a token of the session, summed over its tokens.
std::int64_t HeldTokens(const CacheShape& shape, std::int64_t context) {
  if (shape.windows.empty()) return shape.layers * context;
  std::int64_t held = 0;
  for (const std::int64_t window : shape.windows) {
    held += window > 0 ? std::min(window, context) : context;
  }
  return held;
}

Capacity CapacityOf(const SessionPages& pages, const Workload& workload, std::int64_t page_bytes,
                    std::int64_t open_bytes) {
  Capacity capacity;
  const std::int64_t kv_memory = *workload.kv_memory - open_bytes;
  if (kv_memory >= page_bytes) capacity.pages = model::PagesThatFit(kv_memory, page_bytes);
  capacity.tokens = capacity.pages * workload.page_size;
  if (pages.all == 0) return capacity;
  capacity.sessions = capacity.pages / pages.all;
  CHECK(pages.own > 0);
  capacity.sharing_sessions = std::max<std::int64_t>(capacity.pages - pages.shared, 0) / pages.own;
  return capacity;
}

std::int64_t OpenBytesOf(const Subject& subject, const Workload& workload, KvFormat format) {
  kernels::KvShape shape = subject.shape.In(format, workload.page_size);
  shape.open_pages = static_cast<std::int32_t>(workload.max_running);
  return kernels::OpenBytes(shape);
}

// Layers with windows do not choose, nor is there attention over latents.
std::int64_t BoundsBytesOf(const Subject& subject, const Workload& workload, KvFormat format) {
  if (subject.shape.windowed_layers() > 0 || subject.shape.latent) return 0;
  return kernels::BoundsBytes(subject.shape.In(format, workload.page_size));
}

FormatPlan PlanOf(const Subject& subject, const Workload& workload, const SessionPages& pages,
                  KvFormat format) {
  FormatPlan plan;
  plan.format = format;
  plan.name = kernels::LayoutOf(format).name;
  plan.bytes_per_token = kernels::BytesPerToken(subject.shape.In(format, workload.page_size));
  plan.page_bytes = plan.bytes_per_token * workload.page_size;
  plan.open_bytes = OpenBytesOf(subject, workload, format);
  plan.bounds_bytes = BoundsBytesOf(subject, workload, format);
  CacheShape multi = subject.shape;
  multi.kv_heads = subject.heads;
  if (multi.latent) multi.head_dim = multi.latent->head_dim;
  multi.latent.reset();
  if (multi.kv_heads > 0 && multi.head_dim > 0) {
    plan.multi_head_bytes_per_token = kernels::BytesPerToken(multi.In(format, workload.page_size));
  }
  CacheShape layer = subject.shape;
  layer.layers = 1;
  const std::int64_t layer_bytes = kernels::BytesPerToken(layer.In(format, workload.page_size));
  plan.formula_bytes = HeldTokens(subject.shape, workload.context) * layer_bytes;
  plan.allocated_bytes = pages.all * plan.page_bytes;
  plan.own_bytes = pages.own * plan.page_bytes;
  if (workload.kv_memory) {
    plan.capacity = CapacityOf(pages, workload, plan.page_bytes, plan.open_bytes);
  }
  return plan;
}

// Not empty: else what the first of all formats lacks.
absl::StatusOr<std::vector<KvFormat>> FormatsOf(const Subject& subject, const Workload& workload) {
  std::vector<KvFormat> formats;
  absl::Status refused;
  for (const KvFormat format : kernels::kKvFormats) {
    absl::Status status = model::CheckFormat(subject.shape.In(format, workload.page_size));
    if (status.ok()) formats.push_back(format);
    refused.Update(status);
  }
  if (!formats.empty()) return formats;
  return absl::InvalidArgumentError(
      absl::StrCat("no pages can have this shape: ", refused.message()));
}

// No product here is larger than this one of all sessions and a page, with the open pages.
absl::Status CheckBytes(const Subject& subject, const Workload& workload, const SessionPages& pages,
                        const std::vector<KvFormat>& formats) {
  const std::int64_t most_pages =
      std::max<std::int64_t>(workload.sessions, 1) * (pages.all + pages.headroom);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const KvFormat format : formats) {
    const std::int64_t page_bytes =
        workload.page_size * kernels::BytesPerToken(subject.shape.In(format, workload.page_size));
    // An open page takes less than eight others.
    const bool opens = kernels::SealsPages(format);
    if (opens && workload.max_running > kMost / 2 / 8 / page_bytes) {
      return absl::OutOfRangeError(absl::StrCat("open pages of ", workload.max_running,
                                                " requests take more than 2^62 bytes"));
    }
    const std::int64_t open_bytes = OpenBytesOf(subject, workload, format);
    if (most_pages > (kMost - open_bytes) / page_bytes) {
      return absl::OutOfRangeError(absl::StrCat(
          "the workload takes more than 2^63 bytes: ", std::max<std::int64_t>(workload.sessions, 1),
          " sessions of ", workload.context, " tokens of ", page_bytes / workload.page_size,
          " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Subject& subject, const Workload& workload) {
  CHECK(kMinPageSize <= workload.page_size && workload.page_size <= kMaxPageSize);
  CHECK(0 <= workload.context && 0 <= workload.sessions && 0 <= workload.shared_prefix);
  CHECK(1 <= workload.max_running);
  CHECK(workload.shared_prefix == 0 || workload.shared_prefix < workload.context);
  const absl::StatusOr<std::vector<KvFormat>> formats = FormatsOf(subject, workload);
  if (!formats.ok()) return formats.status();
  Plan plan;
  plan.workload = workload;
  if (workload.context > 0) plan.pages = PagesOf(subject, workload);
  if (absl::Status status = CheckBytes(subject, workload, plan.pages, *formats); !status.ok()) {
    return status;
  }
  if (workload.context > 0 && workload.sessions > 0) {
    plan.apart = PoolOf(plan.pages, 0, workload.sessions);
    plan.sharing = PoolOf(plan.pages, plan.pages.shared, workload.sessions);
  }
  for (const KvFormat format : *formats) {
    plan.formats.push_back(PlanOf(subject, workload, plan.pages, format));
  }
  return plan;
}

}  // namespace banyan::server
