#include "tests/radix/model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace banyan::radix {
namespace {

constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeef;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

std::size_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

bool IsPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return CommonPrefix(a, b) == a.size();
}

Tokens First(std::span<const TokenId> tokens, std::size_t count) {
  return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

ModelledCache::ModelledCache(const Options& options, int namespaces)
    : page_size_(static_cast<std::size_t>(options.page_size)),
      max_empty_(static_cast<std::size_t>(options.max_empty_namespaces)),
      eviction_(options.eviction),
      sharing_(options.sharing),
      cache_(options),
      contents_(static_cast<std::size_t>(options.pages),
                std::vector<std::uint64_t>(page_size_, kPoison)) {
  for (int i = 0; i < namespaces; ++i) spaces_.push_back({.name = "tenant " + std::to_string(i)});
}

// --- Operations ---

ModelledCache::Work& ModelledCache::Open(std::size_t name_space, const Tokens& tokens,
                                         std::int64_t max_tokens) {
  const NamespaceId id = Id(name_space);
  Space& space = spaces_[name_space];
  const std::int64_t match = LongestCached(space, tokens);
  EXPECT_EQ(cache_.MatchLength(id, tokens), match);
  const PrefixCache::Preview preview = cache_.PreviewOpen(id, tokens, max_tokens);
  const std::int64_t available = cache_.available_pages();
  works_.push_back({.view = cache_.Open(id, tokens, max_tokens), .name_space = name_space});
  Work& work = works_.back();
  EXPECT_EQ(work.view.tokens(),
            Shared(static_cast<std::size_t>(
                std::min(std::max(match, LongestOpen(name_space, tokens)), max_tokens))));
  EXPECT_EQ(preview.tokens, work.view.tokens());
  EXPECT_EQ(preview.leased_pages, work.view.leased_pages());
  EXPECT_EQ(preview.pinned_pages, available - cache_.available_pages());
  EXPECT_EQ(cache_.MatchLength(id, tokens), match) << "opening changed it";
  work.tokens = First(tokens, static_cast<std::size_t>(work.view.tokens()));
  EXPECT_EQ(work.view.leased_pages(), work.tokens.size() / page_size_);
  ++uses_;
  UsePath(space, std::span<const TokenId>(work.tokens).first(Leased(work)));
  UsePart(space, work.tokens);
  SettleSpaces();
  return work;
}

bool ModelledCache::Grow(Work& work, std::int32_t pages) {
  const std::int64_t available = cache_.available_pages();
  const std::int64_t free = cache_.stats().pages[static_cast<int>(PageState::kFree)];
  const std::int64_t evicted = cache_.stats().evicted_pages;
  const std::size_t before = work.view.page_table().size();
  const bool grown = cache_.Grow(work.view, pages);
  EXPECT_EQ(grown, pages <= available);
  const std::int64_t needed = grown ? std::max<std::int64_t>(0, pages - free) : 0;
  EXPECT_EQ(cache_.stats().evicted_pages - evicted, needed) << "evicted without need, or too few";
  EXPECT_EQ(cache_.available_pages(), available - (grown ? pages : 0));
  EXPECT_EQ(work.view.page_table().size(), before + static_cast<std::size_t>(grown ? pages : 0));
  SettleSpaces(CheckEvicted(needed));
  for (const PageId page : work.view.page_table().subspan(before)) {
    auto& slots = contents_[static_cast<std::size_t>(page)];
    std::fill(slots.begin(), slots.end(), kPoison);
  }
  return grown;
}

void ModelledCache::MakeCopy(Work& work) {
  const std::optional<PageCopy> copy = cache_.PendingCopy(work.view);
  if (!copy.has_value()) return;
  const auto& from = contents_[static_cast<std::size_t>(copy->from)];
  std::copy_n(from.begin(), copy->slots, contents_[static_cast<std::size_t>(copy->to)].begin());
  cache_.CopyDone(work.view);
  EXPECT_FALSE(cache_.PendingCopy(work.view).has_value());
}

void ModelledCache::Append(Work& work, const Tokens& tokens, PrefixCache::Exactness exactness) {
  for (const TokenId token : tokens) {  // the step writes before the cache is told
    const std::size_t at = work.tokens.size();
    work.tokens.push_back(token);
    contents_[PageOf(work, at)][at % page_size_] = Content(work, at + 1);
  }
  const std::int64_t available = cache_.available_pages();
  const std::size_t published = Leased(work);
  const auto own = std::as_const(work).view.page_table();
  const bool was_source =
      published < own.size() * page_size_ && IsSource(own[published / page_size_]);
  cache_.Append(work.view, tokens, exactness);
  EXPECT_GE(cache_.available_pages(), available - (was_source ? 1 : 0));
  if (exactness == PrefixCache::Exactness::kInexact) work.shareable = false;
  work.is_private = !work.shareable;
  if (work.is_private) return;
  const std::size_t full = work.tokens.size() / page_size_ * page_size_;
  EXPECT_EQ(Leased(work), full) << "not published, or too much";
  if (full == published) return;
  ++uses_;
  Space& space = spaces_[work.name_space];
  const std::span<const TokenId> path(work.tokens);
  for (std::size_t end = published + page_size_; end <= full; end += page_size_) {
    Enter(space, path.first(end), work.view.page_table()[end / page_size_ - 1]);
  }
  UsePath(space, path.first(full));
}

void ModelledCache::Drop(Work& work, std::int64_t front, std::int64_t until) {
  const std::int64_t leased = work.view.leased_pages();
  const std::int64_t before = work.gap.front + work.gap.dropped;
  const bool waits = leased > front && leased > until;
  const bool drops = until > front + work.gap.dropped && !waits;
  std::int64_t freed = 0;
  for (std::int64_t page = std::max({front, before, leased}); drops && page < until; ++page) {
    const PageId own = work.view.page_table()[work.gap.place(page)];
    freed += IsSource(own) ? 0 : 1;
  }
  const std::int64_t available = cache_.available_pages();
  cache_.Drop(work.view, front, until);
  if (drops) work.gap = {.front = front, .dropped = until - front};
  EXPECT_EQ(work.view.gap(), work.gap);
  EXPECT_EQ(work.view.leased_pages(), drops ? std::min(leased, front) : leased);
  EXPECT_GE(cache_.available_pages(), available + freed);
  SettleSpaces();
}

void ModelledCache::Close(std::size_t index, PrefixCache::Tail tail) {
  Work& work = works_[index];
  const std::size_t tokens = Readable(work);
  if (work.shareable && sharing_ == Sharing::kSlots && tail == PrefixCache::Tail::kAdopt &&
      tokens > Leased(work)) {
    ++uses_;
    Space& space = spaces_[work.name_space];
    const std::span<const TokenId> path(work.tokens);
    if (LongestCached(space, path) == static_cast<std::int64_t>(tokens)) {
      UsePart(space, path);
    } else {
      Enter(space, path, work.view.page_table()[Leased(work) / page_size_]);
      UsePath(space, path);
    }
  }
  cache_.Close(work.view, tail);
  EXPECT_FALSE(work.view.is_open());
  if (index + 1 < works_.size()) std::swap(works_[index], works_.back());  // moves views about
  works_.pop_back();
  SettleSpaces();
}

void ModelledCache::Flush(std::size_t name_space) {
  cache_.Flush(Id(name_space));
  spaces_[name_space].pages.clear();
  for (Work& work : works_) {
    if (work.name_space == name_space) work.shareable = work.current = false;
  }
  SettleSpaces();
}

void ModelledCache::StartWatch(std::size_t name_space, const Tokens& tokens) {
  watches_.push_back(std::make_unique<Watched>());
  Watched& watched = *watches_.back();
  watched.name_space = name_space;
  watched.tokens = tokens;
  cache_.StartWatch(watched.watch, Id(name_space), watched.tokens);
  watched.length = watched.watch.cached_tokens();
  SettleSpaces();
}

void ModelledCache::StopWatch(std::size_t index) {
  std::swap(watches_[index], watches_.back());
  if (watches_.size() % 2 == 0) cache_.StopWatch(watches_.back()->watch);  // else its end does it
  watches_.pop_back();
  SettleSpaces();
}

// --- Namespaces ---

NamespaceId ModelledCache::Id(std::size_t name_space) {
  Space& space = spaces_[name_space];
  const NamespaceId id = cache_.OpenNamespace(space.name);
  if (space.known) {
    EXPECT_EQ(space.id, id) << "forgotten too early";
    return id;
  }
  EXPECT_TRUE(space.id == NamespaceId{} || space.id != id) << "not forgotten";
  space.id = id;
  space.known = true;
  empty_.push_back(name_space);
  while (empty_.size() > max_empty_) {
    spaces_[empty_.front()].known = false;
    empty_.pop_front();
  }
  return id;
}

bool ModelledCache::InUse(std::size_t name_space) const {
  const auto here = [&](const auto& it) { return it->name_space == name_space; };
  return !spaces_[name_space].pages.empty() ||
         std::any_of(
             works_.begin(), works_.end(),
             [&](const Work& work) { return work.name_space == name_space && work.current; }) ||
         std::any_of(watches_.begin(), watches_.end(), here);
}

// Which namespaces became empty: `first` in this order, if they did.
void ModelledCache::SettleSpaces(std::span<const std::size_t> first) {
  std::erase_if(empty_, [&](std::size_t at) { return InUse(at); });
  const auto settle = [&](std::size_t at) {
    if (!spaces_[at].known || InUse(at)) return;
    if (std::find(empty_.begin(), empty_.end(), at) == empty_.end()) empty_.push_back(at);
  };
  for (const std::size_t at : first) settle(at);
  for (std::size_t at = 0; at < spaces_.size(); ++at) settle(at);
}

// --- The tree ---

std::int64_t ModelledCache::LongestCached(const Space& space,
                                          std::span<const TokenId> tokens) const {
  std::size_t longest = 0;
  for (const auto& [path, cached] : space.pages) {
    longest = std::max(longest, CommonPrefix(path, tokens));
  }
  return Shared(longest);
}

std::int64_t ModelledCache::Shared(std::size_t tokens) const {
  if (sharing_ == Sharing::kPages) tokens = tokens / page_size_ * page_size_;
  return static_cast<std::int64_t>(tokens);
}

// What some view has computed and publishes.
std::int64_t ModelledCache::LongestOpen(std::size_t name_space,
                                        std::span<const TokenId> tokens) const {
  std::size_t longest = 0;
  for (const Work& work : works_) {
    if (work.name_space != name_space || !work.shareable) continue;
    const auto written = std::span<const TokenId>(work.tokens).first(Readable(work));
    longest = std::max(longest, CommonPrefix(written, tokens));
  }
  return Shared(longest);
}

void ModelledCache::UsePath(Space& space, std::span<const TokenId> tokens) {
  for (auto& [path, cached] : space.pages) {
    if (IsPrefix(path, tokens)) cached.used_from = cached.used_to = uses_;
  }
}

// The last tokens are part of a page, perhaps of several.
void ModelledCache::UsePart(Space& space, std::span<const TokenId> tokens) {
  const std::size_t rest = tokens.size() % page_size_;
  if (rest == 0) return;
  for (auto& [path, cached] : space.pages) {
    const bool same_page = path.size() <= tokens.size() - rest + page_size_;
    if (same_page && IsPrefix(tokens, path)) cached.used_to = uses_;
    if (IsPrefix(path, tokens)) cached.used_to = uses_;
  }
}

// `page` is the tree's for the end of `path`. What ends within that page before is replaced.
void ModelledCache::Enter(Space& space, std::span<const TokenId> path, PageId page) {
  const std::size_t begin = (path.size() - 1) / page_size_ * page_size_;
  std::erase_if(space.pages, [&](const auto& entry) {
    return entry.first.size() > begin && entry.first.size() < path.size() &&
           IsPrefix(entry.first, path);
  });
  const auto [entry, is_new] = space.pages.try_emplace(First(path, path.size()), Cached{page});
  EXPECT_EQ(entry->second.page, page) << "a page that the tree had was replaced";
}

bool ModelledCache::IsLeased(std::size_t name_space, const Tokens& path) const {
  return std::any_of(works_.begin(), works_.end(), [&](const Work& work) {
    return work.name_space == name_space && work.current && path.size() <= Leased(work) &&
           IsPrefix(path, work.tokens);
  });
}

bool ModelledCache::IsLeaf(const Space& space, const Tokens& path) const {
  const auto next = space.pages.upper_bound(path);  // in lexicographic order
  return next == space.pages.end() || !IsPrefix(path, next->first);
}

// Of a copy that is not done. Before its target is given nobody tells.
bool ModelledCache::IsSource(PageId page) const {
  return std::any_of(works_.begin(), works_.end(), [&](const Work& work) {
    const std::optional<PageCopy> copy = cache_.PendingCopy(work.view);
    return copy.has_value() ? copy->from == page : Readable(work) < work.tokens.size();
  });
}

// Which pages are gone; those that had been used the longest ago, and none that anybody needs.
// Returns their namespaces in the order in which they lost their last one.
std::vector<std::size_t> ModelledCache::CheckEvicted(std::int64_t pages) {
  std::vector<std::pair<std::int64_t, std::size_t>> lost;
  if (pages == 0) return {};
  std::int64_t latest = 0;
  for (std::size_t at = 0; at < spaces_.size(); ++at) {
    std::erase_if(spaces_[at].pages, [&](const auto& entry) {
      const auto& [path, cached] = entry;
      if (cache_.MatchLength(spaces_[at].id, path) == static_cast<std::int64_t>(path.size())) {
        return false;
      }
      EXPECT_FALSE(IsLeased(at, path)) << "evicted a leased page";
      latest = std::max(latest, cached.used_from);
      lost.emplace_back(cached.used_to, at);
      return true;
    });
  }
  EXPECT_EQ(lost.size(), pages);
  for (std::size_t at = 0; eviction_ == Eviction::kLru && at < spaces_.size(); ++at) {
    for (const auto& [path, cached] : spaces_[at].pages) {
      if (!IsLeaf(spaces_[at], path) || IsLeased(at, path) || IsSource(cached.page)) continue;
      EXPECT_LE(latest, cached.used_to) << "evicted a page used later than another";
    }
  }
  std::sort(lost.begin(), lost.end());
  std::vector<std::size_t> order;
  for (auto at = lost.rbegin(); at != lost.rend(); ++at) {
    if (std::find(order.begin(), order.end(), at->second) == order.end()) {
      order.insert(order.begin(), at->second);
    }
  }
  return order;
}

// --- Checks ---

void ModelledCache::CheckAll() {
  const absl::Status status = cache_.CheckInvariants();
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (const Work& work : works_) CheckView(work);
  CheckPages();
  CheckWatches();
  std::int64_t known = 0;
  for (const Space& space : spaces_) known += space.known ? 1 : 0;
  EXPECT_EQ(cache_.stats().namespaces, known);
}

void ModelledCache::CheckMatch(std::size_t name_space, const Tokens& tokens) {
  const NamespaceId id = Id(name_space);
  ASSERT_EQ(cache_.MatchLength(id, tokens), LongestCached(spaces_[name_space], tokens));
}

// What is in the tree, and how much of it could be evicted.
void ModelledCache::CheckPages() const {
  std::int64_t pages = 0;
  std::int64_t tokens = 0;
  std::int64_t evictable = 0;
  for (std::size_t at = 0; at < spaces_.size(); ++at) {
    evictable += Evictable(at);
    for (const auto& [path, cached] : spaces_[at].pages) {
      ++pages;
      tokens += static_cast<std::int64_t>((path.size() - 1) % page_size_ + 1);
      ASSERT_EQ(cache_.page_state(cached.page), PageState::kTree);
      ASSERT_EQ(cache_.MatchLength(spaces_[at].id, path), static_cast<std::int64_t>(path.size()));
    }
  }
  const Stats stats = cache_.stats();
  ASSERT_EQ(stats.pages[static_cast<int>(PageState::kTree)], pages);
  ASSERT_EQ(stats.cached_tokens, tokens);
  const bool all_told = std::none_of(works_.begin(), works_.end(), [&](const Work& work) {
    return Readable(work) < work.tokens.size() && !cache_.PendingCopy(work.view).has_value();
  });
  if (all_told) {
    ASSERT_EQ(stats.evictable, evictable);
  }
}

// Pages that nobody needs, nor what is below them.
std::int64_t ModelledCache::Evictable(std::size_t name_space) const {
  const auto& pages = spaces_[name_space].pages;
  std::set<Tokens> needed;
  for (auto at = pages.rbegin(); at != pages.rend(); ++at) {  // what is below comes first
    const auto& [path, cached] = *at;
    if (!needed.contains(path) && !IsLeased(name_space, path) && !IsSource(cached.page)) continue;
    needed.insert(path);
    needed.insert(First(path, (path.size() - 1) / page_size_ * page_size_));
  }
  return std::count_if(pages.begin(), pages.end(),
                       [&](const auto& entry) { return !needed.contains(entry.first); });
}

void ModelledCache::CheckWatches() {
  while (Watch* const changed = cache_.TakeChanged()) {
    auto& watched = *static_cast<Watched*>(changed->owner());
    ASSERT_NE(watched.length, changed->cached_tokens()) << "handed out unchanged";
    watched.length = changed->cached_tokens();
  }
  for (const std::unique_ptr<Watched>& watched : watches_) {
    ASSERT_EQ(watched->watch.cached_tokens(),
              LongestCached(spaces_[watched->name_space], watched->tokens));
    ASSERT_EQ(watched->length, watched->watch.cached_tokens()) << "changed and not handed out";
  }
}

// Of the slot that holds the last of the first `tokens` tokens.
std::uint64_t ModelledCache::Content(const Work& work, std::size_t tokens) const {
  std::uint64_t hash = work.name_space + 1;
  for (std::size_t i = 0; i < tokens; ++i) {
    hash = Mix(hash, static_cast<std::uint64_t>(work.tokens[i]));
  }
  return hash;
}

void ModelledCache::CheckView(const Work& work) const {
  ASSERT_EQ(work.view.tokens(), static_cast<std::int64_t>(work.tokens.size()));
  std::uint64_t hash = work.name_space + 1;
  for (std::size_t i = 0; i < Readable(work); ++i) {
    hash = Mix(hash, static_cast<std::uint64_t>(work.tokens[i]));
    const auto number = static_cast<std::int64_t>(i / page_size_);
    if (number >= work.gap.front && number < work.gap.front + work.gap.dropped) continue;
    const std::size_t page = PageOf(work, i);
    ASSERT_EQ(contents_[page][i % page_size_], hash) << "slot " << i << " of page " << page;
  }
  if (!work.current) return;
  for (std::size_t end = page_size_; end <= Leased(work); end += page_size_) {
    const auto& pages = spaces_[work.name_space].pages;
    const auto cached = pages.find(First(work.tokens, end));
    ASSERT_TRUE(cached != pages.end()) << "a leased page is not in the tree";
    ASSERT_EQ(cached->second.page, work.view.page_table()[end / page_size_ - 1]);
  }
}

std::size_t ModelledCache::Room(const Work& work) const { return Slots(work) - work.tokens.size(); }

std::size_t ModelledCache::Slots(const Work& work) const {
  const std::size_t pages = work.view.page_table().size();
  return (pages + static_cast<std::size_t>(work.gap.dropped)) * page_size_;
}

std::size_t ModelledCache::PageOf(const Work& work, std::size_t token) const {
  const auto number = static_cast<std::int64_t>(token / page_size_);
  return static_cast<std::size_t>(work.view.page_table()[work.gap.place(number)]);
}

std::size_t ModelledCache::Leased(const Work& work) const {
  return static_cast<std::size_t>(work.view.leased_pages()) * page_size_;
}

// Until its copy is made, the slots after the leased pages are not there yet.
std::size_t ModelledCache::Readable(const Work& work) const {
  const bool copied =
      work.tokens.size() <= Slots(work) && !cache_.PendingCopy(work.view).has_value();
  return copied ? work.tokens.size() : Leased(work);
}

}  // namespace banyan::radix
