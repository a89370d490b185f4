#include "loadtest/report/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"
#include "loadtest/report/format.h"

namespace banyan::loadtest {
namespace {

// More than this part of a run's requests is worth a warning.
constexpr double kFewFailures = 0.01;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Facts by which two runs may differ and be compared.
constexpr std::array<std::string_view, 5> kMayDiffer = {"report", "target", "model", "version",
                                                        "ended"};

std::string FactOf(const Report& report, std::string_view name) {
  for (const auto& [key, value] : report.result.facts) {
    if (key == name) return value;
  }
  return "";
}

// Numbers of conversations, from 0, in the order of their first requests.
using Numbers = absl::flat_hash_map<std::int64_t, std::uint32_t>;

// How often each conversation was drawn, or each slice of the measured time.
using Draw = std::vector<std::uint32_t>;

// Rates are drawn by time: answers that come in a rush come in one slice. In so many that a slice
// is long beside an answer, and enough for an interval (Schmeiser 1982 finds 10 to 30).
constexpr std::size_t kSlices = 30;

// Times, each with the conversation it is of. Apart, because most of the way to a quantile only
// conversations are looked at.
class Times {
 public:
  void Add(double time, std::uint32_t conversation) { pairs_.emplace_back(time, conversation); }
  void Sort() {
    std::sort(pairs_.begin(), pairs_.end());
    for (const auto& [time, conversation] : pairs_) {
      times_.push_back(time);
      conversations_.push_back(conversation);
    }
    pairs_.clear();
  }

  // The quantiles qs, ascending, of the times of the conversations drawn, as Histogram::Quantile
  // has them. NaN when there are none.
  template <std::size_t n>
  std::array<double, n> Quantiles(const std::array<double, n>& qs, const Draw& draw) const {
    std::array<double, n> quantiles;
    quantiles.fill(kNothing);
    std::uint64_t all = 0;
    for (const std::uint32_t conversation : conversations_) all += draw[conversation];
    if (all == 0) return quantiles;
    std::uint64_t seen = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double wanted = std::ceil(std::nextafter(qs[i], 0) * static_cast<double>(all));
      const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
      while (seen < rank) seen += draw[conversations_[at++]];
      quantiles[i] = times_[at - 1];
    }
    return quantiles;
  }

 private:
  std::vector<std::pair<double, std::uint32_t>> pairs_;  // until they are sorted
  std::vector<double> times_;
  std::vector<std::uint32_t> conversations_;
};

// What is added up by conversation.
struct Sums {
  double requests = 0, ok = 0, prompt = 0, cached = 0;
};

// What is added up by time.
struct Done {
  double ok = 0, kept = 0, tokens = 0;
};

constexpr std::size_t kFigures = 12;
using Figures = std::array<double, kFigures>;

struct Kind {
  const char* name;
  Ratio::Unit unit;
  bool more_is_better;
};
constexpr std::array<Kind, kFigures> kKinds = {{{"TTFT p50", Ratio::Unit::kSeconds, false},
                                                {"TTFT p90", Ratio::Unit::kSeconds, false},
                                                {"TTFT p99", Ratio::Unit::kSeconds, false},
                                                {"TPOT p50", Ratio::Unit::kSeconds, false},
                                                {"TPOT p99", Ratio::Unit::kSeconds, false},
                                                {"latency p50", Ratio::Unit::kSeconds, false},
                                                {"latency p99", Ratio::Unit::kSeconds, false},
                                                {"answers/s", Ratio::Unit::kRate, true},
                                                {"output tokens/s", Ratio::Unit::kRate, true},
                                                {"goodput", Ratio::Unit::kRate, true},
                                                {"prompt cached", Ratio::Unit::kShare, true},
                                                {"failed", Ratio::Unit::kShare, false}}};

// A run as the bootstrap wants it.
class Sample {
 public:
  Sample(const Report& report, const Slo& slo, Numbers& numbers)
      : warm_up_(report.result.warm_up),
        seconds_(Seconds(report.result.duration - report.result.warm_up)) {
    for (const Record& record : report.result.records) {
      if (!report.result.Measured(record)) continue;
      const auto number = static_cast<std::uint32_t>(numbers.size());
      Add(record, slo, numbers.try_emplace(record.conversation, number).first->second);
    }
    for (Times* times : {&ttft_, &tpot_, &latency_}) times->Sort();
  }

  // Conversations that the other run has and this one does not are without requests here.
  void Widen(std::size_t conversations) { sums_.resize(conversations); }

  // Conversations in which something was asked and in which something failed.
  double asked() const {
    return Count([](const Sums& sums) { return sums.requests > 0; });
  }
  double failed() const {
    return Count([](const Sums& sums) { return sums.ok < sums.requests; });
  }

  Figures Of(const Draw& draw, const Draw& slices) const {
    Sums sums;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const double times = draw[i];
      sums.requests += times * sums_[i].requests;
      sums.ok += times * sums_[i].ok;
      sums.prompt += times * sums_[i].prompt;
      sums.cached += times * sums_[i].cached;
    }
    Done done;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const double times = slices[i];
      done.ok += times * done_[i].ok;
      done.kept += times * done_[i].kept;
      done.tokens += times * done_[i].tokens;
    }
    const auto ttft = ttft_.Quantiles<3>({0.5, 0.9, 0.99}, draw);
    const auto tpot = tpot_.Quantiles<2>({0.5, 0.99}, draw);
    const auto latency = latency_.Quantiles<2>({0.5, 0.99}, draw);
    const auto over = [](double part, double whole) { return whole > 0 ? part / whole : kNothing; };
    return {ttft[0],
            ttft[1],
            ttft[2],
            tpot[0],
            tpot[1],
            latency[0],
            latency[1],
            over(done.ok, seconds_),
            over(done.tokens, seconds_),
            over(done.kept, seconds_),
            over(sums.cached, sums.prompt),
            over(sums.requests - sums.ok, sums.requests)};
  }

 private:
  template <class Is>
  double Count(Is is) const {
    return static_cast<double>(std::count_if(sums_.begin(), sums_.end(), is));
  }

  Done& SliceOf(Tick end) {
    const double part = seconds_ > 0 ? Seconds(end - warm_up_) / seconds_ : 0;
    return done_[static_cast<std::size_t>(
        std::clamp(part * kSlices, 0.0, static_cast<double>(kSlices - 1)))];
  }

  void Add(const Record& record, const Slo& slo, std::uint32_t conversation) {
    if (sums_.size() <= conversation) sums_.resize(conversation + 1);
    Sums& sums = sums_[conversation];
    sums.requests += 1;
    if (record.outcome != Outcome::kOk || !record.first_content) return;
    sums.ok += 1;
    Done& done = SliceOf(record.end);
    done.ok += 1;
    done.kept += slo.Keeps(record) ? 1 : 0;
    done.tokens += static_cast<double>(record.tokens());
    if (record.hit_rate()) {
      sums.prompt += static_cast<double>(record.prompt_tokens);
      sums.cached += static_cast<double>(record.cached_tokens);
    }
    ttft_.Add(Seconds(record.ttft_scheduled()), conversation);
    if (const auto tpot = record.tpot()) tpot_.Add(Seconds(*tpot), conversation);
    latency_.Add(Seconds(record.latency()), conversation);
  }

  const Tick warm_up_;
  const double seconds_;
  std::vector<Sums> sums_;  // by conversation
  std::array<Done, kSlices> done_{};
  Times ttft_, tpot_, latency_;
};

// The same draws on every machine, which the distributions of <random> do not promise.
void DrawAgain(std::mt19937_64& random, Draw& draw) {
  std::fill(draw.begin(), draw.end(), 0);
  for (std::size_t i = 0; i < draw.size(); ++i) ++draw[((random() >> 32) * draw.size()) >> 32];
}

double Over(double b, double a) { return a > 0 ? b / a : kNothing; }

// The 2.5th and 97.5th percentiles of the draws that have a ratio, when most do.
void SetInterval(std::vector<double>& draws, Ratio& ratio) {
  ratio.low = ratio.high = kNothing;
  const auto end = std::remove_if(draws.begin(), draws.end(),
                                  [](double value) { return !std::isfinite(value); });
  const auto known = static_cast<std::size_t>(end - draws.begin());
  if (known == 0 || 2 * known < draws.size() || std::isnan(ratio.ratio)) return;
  std::sort(draws.begin(), end);
  ratio.low = draws[static_cast<std::size_t>(0.025 * static_cast<double>(known - 1))];
  ratio.high = draws[static_cast<std::size_t>(std::ceil(0.975 * static_cast<double>(known - 1)))];
}

// Where nothing of b failed no draw of it has a failure. The most that `failed` can be of b over a
// by Clopper and Pearson 1934: of the conversations that failed, as if each failed by itself, none
// was b's.
double MostFailed(const Sample& a, const Sample& b) {
  const double chance = 1 - std::pow(0.025, 1 / a.failed());  // that the next one were b's, at most
  return chance / (1 - chance) * a.asked() / b.asked();
}

// Gaps are not kept by request, so there is nothing to draw again.
Ratio OfGaps(const char* name, const Report& a, const Report& b, double q) {
  const auto at = [q](const Report& report) {
    const Histogram& gaps = report.result.inter_token;
    return gaps.count() == 0 ? kNothing : Seconds(Tick(gaps.Quantile(q)));
  };
  Ratio ratio{name, Ratio::Unit::kSeconds, at(a), at(b), 0, kNothing, kNothing, false};
  ratio.ratio = Over(ratio.b, ratio.a);
  return ratio;
}

}  // namespace

std::vector<Ratio> Compare(const Report& a, const Report& b, std::uint64_t seed, int draws) {
  CHECK(draws >= 1);
  const Slo& slo = a.slo.any() ? a.slo : b.slo;
  const std::string workload = FactOf(a, "workload");
  const bool paired = !workload.empty() && workload == FactOf(b, "workload");
  Numbers numbers_a;
  Numbers numbers_b;
  Sample sample_a(a, slo, numbers_a);
  Sample sample_b(b, slo, paired ? numbers_a : numbers_b);
  const std::size_t size_a = numbers_a.size();
  const std::size_t size_b = paired ? size_a : numbers_b.size();
  sample_a.Widen(size_a);
  sample_b.Widen(size_b);
  Draw draw_a(size_a, 1);
  Draw draw_b(size_b, 1);
  Draw slices_a(kSlices, 1);
  Draw slices_b(kSlices, 1);
  const Figures all_a = sample_a.Of(draw_a, slices_a);
  const Figures all_b = sample_b.Of(draw_b, slices_b);

  std::vector<std::vector<double>> drawn(kFigures);
  std::mt19937_64 random(seed);
  for (int i = 0; i < draws && size_a > 1 && size_b > 1; ++i) {
    DrawAgain(random, draw_a);
    DrawAgain(random, slices_a);
    if (!paired) {
      DrawAgain(random, draw_b);
      DrawAgain(random, slices_b);
    }
    const Figures of_a = sample_a.Of(draw_a, slices_a);
    const Figures of_b = sample_b.Of(paired ? draw_a : draw_b, paired ? slices_a : slices_b);
    for (std::size_t k = 0; k < kFigures; ++k) drawn[k].push_back(Over(of_b[k], of_a[k]));
  }

  std::vector<Ratio> ratios;
  for (std::size_t k = 0; k < kFigures; ++k) {
    const Kind& kind = kKinds[k];
    if (std::string_view(kind.name) == "goodput" && !slo.any()) continue;
    Ratio ratio{kind.name, kind.unit, all_a[k],           all_b[k], Over(all_b[k], all_a[k]),
                0,         0,         kind.more_is_better};
    SetInterval(drawn[k], ratio);
    const bool counts_failures = std::string_view(kind.name) == "failed";
    if (counts_failures && ratio.ratio == 0 && !std::isnan(ratio.high))
      ratio.high = MostFailed(sample_a, sample_b);
    ratios.push_back(std::move(ratio));
    if (std::string_view(kind.name) == "TPOT p99") {
      ratios.push_back(OfGaps("ITL p50", a, b, 0.5));
      ratios.push_back(OfGaps("ITL p99", a, b, 0.99));
    }
  }
  return ratios;
}

std::vector<std::string> Differences(const Report& a, const Report& b) {
  std::vector<std::string> differences;
  std::vector<std::string> names;
  for (const Report* report : {&a, &b}) {
    for (const auto& [name, value] : report->result.facts) names.push_back(name);
  }
  std::vector<std::string> seen;
  for (const std::string& name : names) {
    const bool may = std::find(kMayDiffer.begin(), kMayDiffer.end(), name) != kMayDiffer.end();
    if (may || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    const std::string in_a = FactOf(a, name);
    const std::string in_b = FactOf(b, name);
    if (in_a == in_b) continue;
    differences.push_back(
        absl::StrCat("The runs differ in ", name, ": ", Quote(in_a), " and ", Quote(in_b), "."));
  }
  if (a.slo != b.slo) {
    differences.push_back(absl::StrCat("The runs have other limits: ", Quote(Text(a.slo)), " and ",
                                       Quote(Text(b.slo)), "; goodput here is by ",
                                       a.slo.any() ? "the first." : "the second."));
  }
  for (const auto& [name, report] : {std::pair("A", &a), std::pair("B", &b)}) {
    const Summary summary = Summarize(report->result, report->slo);
    if (summary.failed() > kFewFailures * static_cast<double>(summary.requests())) {
      differences.push_back(absl::StrCat("In ", name, " ", FormatCount(summary.failed()), " of ",
                                         FormatCount(summary.requests()),
                                         " requests failed: its times are those of the others."));
    }
    if (summary.client_limited) {
      differences.push_back(absl::StrCat("The client was a bottleneck in ", name, "."));
    }
    if (report->result.interrupted) {
      differences.push_back(absl::StrCat(name, " was interrupted."));
    }
  }
  return differences;
}

}  // namespace banyan::loadtest
