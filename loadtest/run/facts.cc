#include "loadtest/run/facts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "loadtest/run/schedule.h"

namespace banyan::loadtest {
namespace {

std::string Words(Tick time) { return absl::FormatDuration(absl::FromChrono(time)); }

std::string UrlText(const http::Url& url) {
  return absl::StrCat(url.tls ? "https://" : "http://", http::PlaceOf(url), url.path);
}

std::string LoopText(const RunOptions& options) {
  if (LoopOf(options) == Loop::kOpen) {
    return absl::StrCat("open: conversations begin when the source says, at most ",
                        options.max_in_flight, " requests in flight");
  }
  std::string text = absl::StrCat("closed: ", options.concurrency, " conversations at once");
  if (options.ramp > Tick(0)) absl::StrAppend(&text, ", joining over ", Words(options.ramp));
  return text;
}

std::string BoundsText(const RunOptions& options) {
  std::vector<std::string> bounds;
  if (options.max_requests > 0) bounds.push_back(absl::StrCat(options.max_requests, " requests"));
  if (options.max_time > Tick(0)) {
    bounds.push_back(absl::StrCat(Words(options.max_time), " and at most ", Words(options.grace),
                                  " for answers"));
  }
  return bounds.empty() ? "none: the whole workload" : absl::StrJoin(bounds, "; ");
}

std::string LengthsText(const Target& target) {
  if (!target.vocabulary().exact()) {
    return "approximate: the server does not tell its tokens, so a word is taken for one";
  }
  return absl::StrCat("exact: ", target.vocabulary().size(),
                      " pieces of one token each by the server's /tokenize; its chat template "
                      "adds ",
                      target.template_tokens());
}

std::string AnswersText(const RunOptions& options) {
  return absl::StrCat("temperature ", options.temperature,
                      options.ignore_eos ? ", of the length that is asked for (ignore_eos)" : "");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Facts(const Workload& workload,
                                                       const RunOptions& options,
                                                       const Target& target) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"target", UrlText(options.target.http.base)},
      {"model", target.model()},
      {"api", options.target.api == Api::kChat ? "chat completions" : "completions"},
      {"workload", absl::StrCat(workload.source, "; ", workload.conversations.size(),
                                " conversations, ", CountTurns(workload), " requests")},
      {"loop", LoopText(options)},
      {"bounds", BoundsText(options)},
      {"warm-up", options.warm_up > Tick(0) ? Words(options.warm_up) : "none"},
      {"prompt lengths", LengthsText(target)},
      {"answers", AnswersText(options)}};
  if (!options.extra_body.empty()) facts.emplace_back("extra body", options.extra_body);
  if (!workload.bad_lines.empty()) {
    facts.emplace_back("skipped lines", absl::StrCat(workload.bad_lines.size()));
  }
  facts.emplace_back("version", "banyan-loadtest " BANYAN_VERSION);
  facts.emplace_back("ended",
                     absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()));
  return facts;
}

}  // namespace banyan::loadtest
