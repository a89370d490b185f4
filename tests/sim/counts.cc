#include "tests/sim/counts.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace banyan::sim {
namespace {

struct Name {
  const char* words;
  std::int64_t Counts::*count;
};

constexpr Name kNames[] = {
    {"seeds", &Counts::seeds},
    {"ticks", &Counts::ticks},
    {"steps", &Counts::steps},
    {"requests", &Counts::requests},
    {"refused", &Counts::refused},
    {"turned away", &Counts::turned_away},
    {"whole answers", &Counts::whole_answers},
    {"tokens computed", &Counts::computed_tokens},
    {"cached", &Counts::cached_tokens},
    {"exact hits", &Counts::exact_hits},
    {"copies", &Counts::copies},
    {"copies of open pages", &Counts::open_copies},
    {"pages evicted", &Counts::evicted_pages},
    {"pages deduplicated", &Counts::deduplicated_pages},
    {"ticks with detached pages", &Counts::detached_pages},
    {"preemptions", &Counts::preemptions},
    {"preemptions of producers", &Counts::preempted_producers},
    {"resumptions", &Counts::resumptions},
    {"tokens recomputed", &Counts::recomputed_tokens},
    {"followed", &Counts::followed},
    {"passes", &Counts::passes},
    {"shares compared", &Counts::compared_shares},
    {"promoted by age", &Counts::promoted},
    {"answers that filled the pool", &Counts::pool_filled},
    {"requests with a policy", &Counts::policies},
    {"pages dropped", &Counts::dropped_pages},
    {"compactions", &Counts::compactions},
    {"compactions in place", &Counts::compactions_in_place},
    {"brought back", &Counts::brought_back},
    {"cancels in flight", &Counts::cancels_in_flight},
    {"cancels when preempted", &Counts::cancels_preempted},
    {"stop strings", &Counts::stop_strings},
    {"failed steps", &Counts::failed_steps},
    {"flushes", &Counts::flushes},
    {"slow readers", &Counts::slow_readers},
    {"shutdowns", &Counts::shutdowns},
};

constexpr const char* kStates[] = {"waiting", "following", "prefill",
                                   "decode",  "ending",    "finished"};

}  // namespace

void Counts::Add(const Counts& other) {
  for (const Name& name : kNames) this->*name.count += other.*name.count;
  for (std::size_t i = 0; i < cancels.size(); ++i) cancels[i] += other.cancels[i];
  calm_percent = std::max(calm_percent, other.calm_percent);
}

std::string Counts::Words() const {
  std::string words;
  for (const Name& name : kNames) {
    words += std::string(name.words) + " " + std::to_string(this->*name.count) + ", ";
  }
  words += "cancels while";
  for (std::size_t i = 0; i < cancels.size(); ++i) {
    words += std::string(i == 0 ? " " : ", ") + kStates[i] + " " + std::to_string(cancels[i]);
  }
  return words + "; the end took " + std::to_string(calm_percent) + "% of its bound at most";
}

std::string Counts::Missing(std::int64_t least) const {
  for (const Name& name : kNames) {
    if (this->*name.count < least) return name.words;
  }
  for (std::size_t i = 0; i < cancels.size(); ++i) {
    if (cancels[i] < least) return std::string("cancels while ") + kStates[i];
  }
  return "";
}

}  // namespace banyan::sim
