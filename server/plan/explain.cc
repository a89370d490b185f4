#include "server/plan/explain.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/scheduler.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

std::int64_t NumbersOf(const CacheShape& shape) {
  return shape.In(kernels::KvFormat::kF16, 1).values_per_token();
}

std::string Token(const Subject& subject, const Plan& plan) {
  const CacheShape& shape = subject.shape;
  std::string text = "bytes a token: ";
  if (shape.latent) {
    absl::StrAppend(&text, shape.layers, " layers x (a latent of ", shape.latent->rank,
                    " + a rotated key of ", shape.latent->rope, ") = ");
  } else {
    absl::StrAppend(&text, "(a key + a value) x ", shape.layers, " layers x ", shape.kv_heads,
                    " KV heads x ", shape.head_dim, " = ");
  }
  absl::StrAppend(&text, Grouped(NumbersOf(shape)), " numbers.");
  for (const FormatPlan& format : plan.formats) {
    const double bits =
        8.0 * static_cast<double>(format.bytes_per_token) / static_cast<double>(NumbersOf(shape));
    absl::StrAppend(&text, format.format == plan.formats.front().format ? " In " : "; in ",
                    format.name, " of ", absl::StrFormat("%.4g", bits), " bits each ",
                    Grouped(format.bytes_per_token), " bytes");
  }
  return text + ". Bits count the scales of a format that has some.";
}

// Texts disagree about the same model, because some count a KV head for each query head.
std::string MultiHead(const Subject& subject, const FormatPlan& format) {
  if (format.multi_head_bytes_per_token == 0) {
    return "multi-head: how many bytes a token would take with a KV head for each query head is "
           "not known, because the number of query heads is not told.";
  }
  const std::string multi = Grouped(format.multi_head_bytes_per_token);
  if (AttentionOf(subject) == "MHA") {
    return absl::StrCat("multi-head: each of the ", subject.heads,
                        " query heads has a KV head of its own (MHA), so that no sharing among "
                        "heads makes the ",
                        multi, " bytes a token in ", format.name, " fewer.");
  }
  const double times = static_cast<double>(format.multi_head_bytes_per_token) /
                       static_cast<double>(format.bytes_per_token);
  return absl::StrCat("multi-head: with a KV head for each of the ", subject.heads,
                      " query heads (MHA) a token would take ", multi, " bytes in ", format.name,
                      ", ", absl::StrFormat("%.4g", times), " times the ",
                      Grouped(format.bytes_per_token), " of this model (",
                      std::string(AttentionOf(subject)),
                      "). Texts that give that figure for it leave out that heads share.");
}

std::string Windows(const Subject& subject, const Plan& plan) {
  const CacheShape& shape = subject.shape;
  return absl::StrCat(
      "windows: ", shape.windowed_layers(), " of ", shape.layers,
      " layers see only their latest tokens. The formula counts the lesser of window and context "
      "for them, and ",
      Grouped(plan.workload.context), " tokens for the other ",
      shape.layers - shape.windowed_layers(),
      ". What is allocated is all tokens in all layers: a page holds a token for every layer, and "
      "positions outside of a window are masked.");
}

std::string Session(const Plan& plan) {
  const Workload& workload = plan.workload;
  const FormatPlan& format = plan.formats.front();
  return absl::StrCat("a session: ", Grouped(workload.context), " tokens in pages of ",
                      workload.page_size, " are ", Grouped(plan.pages.all),
                      " pages, the last one whole also where it is not full. A page takes ",
                      Grouped(format.page_bytes), " bytes in ", format.name, ", so a session is ",
                      "allocated ", Grouped(format.allocated_bytes), " bytes.");
}

std::string Sharing(const Plan& plan) {
  return absl::StrCat("sharing: of the ", Grouped(plan.workload.shared_prefix),
                      " tokens that sessions begin with, ", Grouped(plan.pages.shared),
                      " whole pages are there once for all of them. Each session has the other ",
                      Grouped(plan.pages.own),
                      " for itself: a page that prefix and own tokens share is copied.");
}

std::string Pool(const Plan& plan) {
  const std::int64_t sessions = plan.workload.sessions;
  std::string text =
      absl::StrCat("the pool: ", Grouped(sessions), " x ", Grouped(plan.pages.all), " pages apart");
  if (plan.pages.shared > 0) {
    absl::StrAppend(&text, ", or ", Grouped(plan.pages.shared), " + ", Grouped(sessions), " x ",
                    Grouped(plan.pages.own), " = ", Grouped(plan.sharing->sessions),
                    " pages where they share");
  }
  if (plan.apart->headroom == 0) return text + ". No headroom is needed beyond the sessions' ends.";
  return absl::StrCat(text, ". --kv-memory has ", Grouped(plan.pages.headroom), " more for each, ",
                      Grouped(plan.apart->headroom), " pages: before it admits a request, the ",
                      "scheduler wants room for ", scheduler::Options().headroom_tokens,
                      " more tokens of each that runs, unless its max_tokens ends sooner.");
}

std::string Capacities(const Plan& plan) {
  const FormatPlan& format = plan.formats.front();
  std::string text = absl::StrCat("what fits: ", Grouped(*plan.workload.kv_memory), " bytes hold ",
                                  Grouped(format.capacity->pages), " whole pages of ",
                                  Grouped(format.page_bytes), " in ", format.name, ", which are ",
                                  Grouped(format.capacity->tokens), " tokens");
  if (plan.pages.all == 0) return text + ".";
  absl::StrAppend(&text, ". Apart ", Grouped(format.capacity->pages), " / ",
                  Grouped(plan.pages.all), " = ", Grouped(format.capacity->sessions), " sessions");
  if (plan.pages.shared > 0) {
    absl::StrAppend(&text, "; sharing (", Grouped(format.capacity->pages), " - ",
                    Grouped(plan.pages.shared), ") / ", Grouped(plan.pages.own), " = ",
                    Grouped(format.capacity->sharing_sessions));
  }
  return text + ", each at its full length and without headroom.";
}

}  // namespace

std::vector<std::string> Explain(const Subject& subject, const Plan& plan) {
  std::vector<std::string> paragraphs = {Token(subject, plan),
                                         MultiHead(subject, plan.formats.front())};
  if (plan.workload.context > 0) {
    if (subject.shape.windowed_layers() > 0) paragraphs.push_back(Windows(subject, plan));
    paragraphs.push_back(Session(plan));
    if (plan.workload.shared_prefix > 0) paragraphs.push_back(Sharing(plan));
  }
  if (plan.apart) paragraphs.push_back(Pool(plan));
  if (plan.workload.kv_memory) paragraphs.push_back(Capacities(plan));
  return paragraphs;
}

}  // namespace banyan::server
