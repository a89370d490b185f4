#include "server/plan/notes.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "kernels/kv_shape.h"
#include "model/kv_pool.h"
#include "scheduler/scheduler.h"
#include "server/options.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

using Notes = std::vector<std::string>;

void OnModel(const Subject& subject, Notes& notes) {
  if (!subject.problem.empty()) {
    notes.push_back(absl::StrCat("this server does not run the file: ", subject.problem));
  }
  if (subject.shape.latent) {
    notes.emplace_back(
        "this server has no attention over latents yet: the figures are those of such a cache in "
        "its pages");
  }
}

void OnWindows(const Subject& subject, const Plan& plan, Notes& notes) {
  const std::vector<std::int64_t>& windows = subject.shape.windows;
  const bool hides = std::any_of(windows.begin(), windows.end(), [&](std::int64_t window) {
    return window > 0 && window < plan.workload.context;
  });
  if (!hides) return;
  notes.emplace_back(
      "this server keeps all positions of layers with a window too, and masks those outside: it "
      "allocates more than the formula");
}

void OnFormats(const Subject& subject, const Plan& plan, Notes& notes) {
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    const absl::Status status =
        model::CheckFormat(subject.shape.In(format, plan.workload.page_size));
    if (!status.ok()) notes.emplace_back(status.message());
  }
  for (const FormatPlan& format : plan.formats) {
    if (format.open_bytes == 0) continue;
    notes.push_back(absl::StrCat(
        "in ", format.name, " pages are sealed when they are full; until then each of the ",
        plan.workload.max_running, " requests that may run at once (--max-running) has one in ",
        "f16, which --kv-memory holds as well"));
  }
}

void OnContext(const Subject& subject, const Plan& plan, Notes& notes) {
  if (subject.context_length == 0 || plan.workload.context <= subject.context_length) return;
  notes.push_back(absl::StrCat("the context is over the model's own of ",
                               Grouped(subject.context_length),
                               " tokens: the server refuses such requests"));
}

void OnCapacity(const Subject& subject, const Plan& plan, std::optional<std::int64_t> memory,
                Notes& notes) {
  if (memory && !subject.weights) {
    notes.emplace_back(
        "the size of the weights is not known, so that all of --memory is counted as KV pool; "
        "--weights tells it");
  }
  if (memory && plan.workload.kv_memory == kMaxKvMemory) {
    notes.push_back(absl::StrCat("a pool has at most ", FormatBytes(kMaxKvMemory)));
  }
  for (const FormatPlan& format : plan.formats) {
    if (!format.capacity) continue;
    if (format.capacity->pages == 0) {
      notes.push_back(absl::StrCat(
          "in ", format.name, " a page takes ", Grouped(format.page_bytes), " bytes",
          format.open_bytes > 0 ? absl::StrCat(", and open ones ", Grouped(format.open_bytes))
                                : std::string(),
          ", more than there are: the server refuses to start"));
    } else if (format.capacity->pages == kMaxPages) {
      notes.push_back(absl::StrCat("in ", format.name, " the pool ends at ", Grouped(kMaxPages),
                                   " pages; a larger --page-size lets it hold more"));
    }
  }
}

void OnSessions(const Plan& plan, Notes& notes) {
  if (plan.workload.sessions > kMaxRunning) {
    notes.push_back(absl::StrCat("a server runs at most ", Grouped(kMaxRunning),
                                 " requests at once (--max-running)"));
  }
  if (!plan.apart) return;
  if (plan.apart->headroom > 0) {
    notes.push_back(absl::StrCat(
        "--kv-memory has room for ", scheduler::Options().headroom_tokens,
        " more tokens of each session (", plan.pages.headroom,
        plan.pages.headroom == 1 ? " page" : " pages",
        "): the scheduler wants that before it admits a request whose answer may go on so far"));
  }
  for (const FormatPlan& format : plan.formats) {
    const std::int64_t most = (kMaxKvMemory - format.open_bytes) / format.page_bytes;
    if (plan.sharing->all() <= std::min<std::int64_t>(kMaxPages, most)) continue;
    notes.push_back(absl::StrCat("no server has a pool as large as that in ", format.name, ": ",
                                 Grouped(kMaxPages), " pages and ", FormatBytes(kMaxKvMemory),
                                 " are the most"));
  }
}

}  // namespace

std::vector<std::string> NotesOn(const Subject& subject, const Plan& plan,
                                 std::optional<std::int64_t> memory) {
  Notes notes;
  OnModel(subject, notes);
  OnFormats(subject, plan, notes);
  OnWindows(subject, plan, notes);
  OnContext(subject, plan, notes);
  OnCapacity(subject, plan, memory, notes);
  OnSessions(plan, notes);
  return notes;
}

}  // namespace banyan::server
