#include "radix/watches.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/common_length.h"

namespace banyan::radix {
namespace {

// Comes before all entries at `place` whose next tokens begin with `prefix`.
WatchEntry Before(std::int64_t place, std::span<const TokenId> prefix = {}) {
  return {place, NextPage(prefix), nullptr};
}

bool IsLike(const WatchEntry& entry, std::int64_t place, std::span<const TokenId> prefix) {
  return entry.place == place && entry.next.tokens.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), entry.next.tokens.begin());
}

std::uint64_t Order(std::span<const TokenId> tokens) {
  const std::uint64_t first = tokens.empty() ? 0 : static_cast<std::uint32_t>(tokens[0]);
  const std::uint64_t second = tokens.size() > 1 ? static_cast<std::uint32_t>(tokens[1]) : 0;
  return first << 32 | second;
}

}  // namespace

NextPage::NextPage(std::span<const TokenId> page) : order(Order(page)), tokens(page) {}

std::strong_ordering operator<=>(const NextPage& a, const NextPage& b) {
  if (a.order != b.order) return a.order <=> b.order;
  const auto common = static_cast<std::size_t>(CommonLength(a.tokens, b.tokens));
  if (common == a.tokens.size() || common == b.tokens.size()) {
    return a.tokens.size() <=> b.tokens.size();
  }
  return static_cast<std::uint32_t>(a.tokens[common]) <=>
         static_cast<std::uint32_t>(b.tokens[common]);
}

bool WatchOrder::operator()(const WatchEntry& a, const WatchEntry& b) const {
  if (a.place != b.place) return a.place < b.place;
  const std::strong_ordering next = a.next <=> b.next;
  if (next != 0) return next < 0;
  if (a.watch == nullptr || b.watch == nullptr) return a.watch == nullptr && b.watch != nullptr;
  return a.watch->number_ < b.watch->number_;
}

Watches::~Watches() { CHECK(stations_.empty()); }

void Watches::Start(Watch& watch, NodeIndex node, std::int64_t start, std::int64_t length) {
  watch.cached_tokens_ = watch.reported_ = options_.Shared(length);
  watch.number_ = ++started_;
  ++count_;
  Watch* const one = &watch;
  Hang({&one, 1}, node, start);
}

void Watches::Stop(Watch& watch) {
  WatchStation& station = *watch.station_;
  CHECK(station.watches.erase(Entry(watch)) == 1);
  DropIfEmpty(station);
  SetLength(watch, watch.reported_);  // out of the list
  watch.station_ = nullptr;
  watch.cached_tokens_ = 0;
  --count_;
}

Watch* Watches::TakeChanged() {
  Watch* const watch = first_changed_;
  if (watch == nullptr) return nullptr;
  UnlinkChanged(*watch);
  watch->reported_ = watch->cached_tokens_;
  return watch;
}

void Watches::OnExtend(NodeIndex end, NodeIndex node, std::span<const TokenId> run,
                       std::int32_t known) {
  WatchStation* const station = Find(end);
  if (station == nullptr) return;
  const std::int64_t place = station->start + nodes_[end].edge.page_count();
  const std::int64_t length = place * page_size_;
  const auto like = run.first(static_cast<std::size_t>(known) + 1);
  // Those that have the whole first page are neighbours among those that are like it.
  std::vector<Watch*> deeper;
  auto first_deeper = station->watches.end();
  for (auto at = station->watches.lower_bound(Before(place, like));
       at != station->watches.end() && IsLike(*at, place, like); ++at) {
    ++visits_;
    Watch& watch = *at->watch;
    const auto rest = watch.tokens_.subspan(static_cast<std::size_t>(length));
    const std::int64_t common = CommonLength(rest, run);
    SetLength(watch, length + common);
    if (common < page_size_) continue;
    if (deeper.empty()) first_deeper = at;
    deeper.push_back(&watch);
  }
  if (deeper.empty()) return;
  station->watches.erase(first_deeper,
                         std::next(first_deeper, static_cast<std::ptrdiff_t>(deeper.size())));
  Hang(deeper, node, node == end ? station->start : place);
  DropIfEmpty(*station);
}

void Watches::OnCut(NodeIndex node, std::int32_t pages) {
  WatchStation* const station = Find(node);
  if (station == nullptr) return;
  const std::int64_t place = station->start + pages;
  const auto gone = nodes_[node].edge.tokens().subspan(static_cast<std::size_t>(pages) *
                                                       static_cast<std::size_t>(page_size_));
  Shorten(*station, place, gone.first(1), place * page_size_);
  const auto deeper = station->watches.lower_bound(Before(place + 1));
  Lift(*station, deeper, node, station->start, place * page_size_);
}

void Watches::OnRemove(NodeIndex child, NodeIndex parent, std::int32_t known) {
  WatchStation* const above = Find(parent);
  WatchStation* const below = Find(child);
  if (above == nullptr && below == nullptr) return;
  const std::int32_t pages = nodes_[parent].edge.page_count();
  const std::int64_t place = above != nullptr ? above->start + pages : below->start;
  const std::int64_t length = place * page_size_ + known;
  if (above != nullptr) {
    const auto gone = nodes_[child].edge.first_page();
    Shorten(*above, place, gone.first(static_cast<std::size_t>(known) + 1), length);
  }
  if (below != nullptr) Lift(*below, below->watches.begin(), parent, place - pages, length);
}

void Watches::OnSplit(NodeIndex upper, NodeIndex lower) {
  const auto found = stations_.find(lower);
  if (found == stations_.end()) return;
  WatchStation& station = *found->second;
  const std::int64_t start = station.start;
  const std::int64_t border = start + nodes_[upper].edge.page_count();
  const auto behind = station.watches.lower_bound(Before(border + 1));
  // Which part has fewer is found by walking from both ends.
  auto front = station.watches.begin();
  auto back = station.watches.end();
  while (front != behind && back != behind) {
    ++visits_;
    ++front;
    --back;
  }
  std::vector<Watch*> moved;
  const auto take = [&](auto from, auto to) {
    for (auto at = from; at != to; ++at) moved.push_back(at->watch);
    visits_ += static_cast<std::int64_t>(moved.size());
    station.watches.erase(from, to);
  };
  if (back == behind) {  // the lower part's
    take(behind, station.watches.end());
    station.node = upper;
    std::unique_ptr<WatchStation> kept = std::move(found->second);
    stations_.erase(found);
    stations_.emplace(upper, std::move(kept));
    Hang(moved, lower, border);
  } else {
    take(station.watches.begin(), behind);
    station.start = border;
    Hang(moved, upper, start);
  }
}

std::vector<Watch*> Watches::Uproot(std::span<const NodeIndex> nodes) {
  std::vector<Watch*> watches;
  for (const NodeIndex node : nodes) {
    const auto found = stations_.find(node);
    if (found == stations_.end()) continue;
    for (const WatchEntry& entry : found->second->watches) watches.push_back(entry.watch);
    stations_.erase(found);
  }
  visits_ += static_cast<std::int64_t>(watches.size());
  return watches;
}

void Watches::Plant(std::span<Watch* const> watches, NodeIndex root) {
  for (Watch* const watch : watches) SetLength(*watch, 0);
  Hang(watches, root, 0);
}

WatchStation* Watches::Find(NodeIndex node) {
  const auto found = stations_.find(node);
  return found == stations_.end() ? nullptr : found->second.get();
}

WatchEntry Watches::Entry(Watch& watch) const {
  const std::int64_t place = watch.cached_tokens_ / page_size_;
  auto next = watch.tokens_.subspan(static_cast<std::size_t>(place * page_size_));
  next = next.first(std::min(next.size(), static_cast<std::size_t>(page_size_)));
  return {place, NextPage(next), &watch};
}

void Watches::Shorten(WatchStation& station, std::int64_t place, std::span<const TokenId> prefix,
                      std::int64_t length) {
  for (auto at = station.watches.lower_bound(Before(place, prefix));
       at != station.watches.end() && IsLike(*at, place, prefix); ++at) {
    ++visits_;
    SetLength(*at->watch, length);
  }
}

void Watches::Lift(WatchStation& from, WatchSet::iterator first, NodeIndex node, std::int64_t start,
                   std::int64_t length) {
  std::vector<Watch*> lifted;
  for (auto at = first; at != from.watches.end(); ++at) {
    ++visits_;
    SetLength(*at->watch, length);
    lifted.push_back(at->watch);
  }
  from.watches.erase(first, from.watches.end());
  Hang(lifted, node, start);
  DropIfEmpty(from);
}

void Watches::Hang(std::span<Watch* const> watches, NodeIndex node, std::int64_t start) {
  if (watches.empty()) return;
  std::unique_ptr<WatchStation>& station = stations_[node];
  if (station == nullptr) {
    station = std::make_unique<WatchStation>();
    station->node = node;
    station->start = start;
  }
  // They often come in order: then the next one's place is behind the last one's.
  auto at = station->watches.end();
  for (Watch* const watch : watches) {
    watch->station_ = station.get();
    at = station->watches.insert(at, Entry(*watch));
    CHECK(at->watch == watch);
    ++at;
  }
}

void Watches::DropIfEmpty(WatchStation& station) {
  if (station.watches.empty()) stations_.erase(station.node);
}

void Watches::SetLength(Watch& watch, std::int64_t length) {
  length = options_.Shared(length);
  const bool was_listed = watch.cached_tokens_ != watch.reported_;
  watch.cached_tokens_ = length;
  const bool listed = length != watch.reported_;
  if (listed && !was_listed) LinkChanged(watch);
  if (was_listed && !listed) UnlinkChanged(watch);
}

void Watches::LinkChanged(Watch& watch) {
  watch.previous_changed_ = last_changed_;
  (last_changed_ == nullptr ? first_changed_ : last_changed_->next_changed_) = &watch;
  last_changed_ = &watch;
}

void Watches::UnlinkChanged(Watch& watch) {
  Watch* const previous = std::exchange(watch.previous_changed_, nullptr);
  Watch* const next = std::exchange(watch.next_changed_, nullptr);
  (previous == nullptr ? first_changed_ : previous->next_changed_) = next;
  (next == nullptr ? last_changed_ : next->previous_changed_) = previous;
}

}  // namespace banyan::radix
