#include "loadtest/workload/arrivals.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "loadtest/workload/json.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr double kMaxRate = 1e6;
constexpr double kMinRate = 1e-6;
constexpr double kMinBurstiness = 1e-3;
constexpr double kMaxBurstiness = 1e6;

absl::Status Check(const ArrivalOptions& options) {
  // Comparisons are written so that a NaN fails them.
  if (!(options.rate >= kMinRate && options.rate <= kMaxRate)) {
    return absl::InvalidArgumentError(absl::StrCat("the rate ", options.rate, " is not between ",
                                                   kMinRate, " and ", kMaxRate, " a second"));
  }
  if (!(options.burstiness >= kMinBurstiness && options.burstiness <= kMaxBurstiness)) {
    return absl::InvalidArgumentError(absl::StrCat("the burstiness ", options.burstiness,
                                                   " is not between ", kMinBurstiness, " and ",
                                                   kMaxBurstiness));
  }
  if (options.ramp < Tick(0) || Seconds(options.ramp) > kMaxSeconds / 2) {
    return absl::InvalidArgumentError("the ramp is negative or too long");
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const Workload& workload) {
  for (const Conversation& conversation : workload.conversations) {
    if (conversation.turns.front().at.has_value()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(workload.source, " does not say when requests were sent"));
  }
  return absl::OkStatus();
}

// The gap before the next arrival of a process of rate 1.
double Gap(const ArrivalOptions& options, Random& random) {
  switch (options.arrivals) {
    case Arrivals::kPoisson:
      return random.Exponential();
    case Arrivals::kGamma:
      return random.Gamma(options.burstiness) / options.burstiness;
    case Arrivals::kConstant:
    case Arrivals::kTrace:
      break;
  }
  return 1;
}

// When the process of rate 1 is at `count`, the one of options.rate with its ramp is there after so
// many seconds: the inverse of the integral of the rate (inversion; Cinlar, 1975).
double SecondsUntil(double count, const ArrivalOptions& options) {
  const double ramp = Seconds(options.ramp);
  if (count < options.rate * ramp / 2) return std::sqrt(2 * count * ramp / options.rate);
  return count / options.rate + ramp / 2;
}

// Times of later turns keep their distance from the first.
void MoveTo(Tick at, Conversation& conversation) {
  const Tick before = conversation.turns.front().at.value_or(Tick(0));
  for (Turn& turn : conversation.turns) {
    if (turn.at.has_value()) turn.at = *turn.at - before + at;
  }
  conversation.turns.front().at = at;
}

}  // namespace

absl::Status SetArrivals(const ArrivalOptions& options, Workload& workload) {
  if (options.arrivals == Arrivals::kTrace) return CheckTimes(workload);
  if (absl::Status status = Check(options); !status.ok()) return status;
  Random random(options.seed);
  double count = 0;
  for (Conversation& conversation : workload.conversations) {
    const absl::StatusOr<Tick> at =
        TimeOf(SecondsUntil(count, options), std::chrono::seconds(1), "the last arrival");
    if (!at.ok()) return at.status();
    MoveTo(*at, conversation);
    count += Gap(options, random);
  }
  return absl::OkStatus();
}

}  // namespace banyan::loadtest
