#include "tests/radix/model.h"

#include <algorithm>

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

}  // namespace

ModelledCache::ModelledCache(const Options& options, int namespaces)
    : page_size_(static_cast<std::size_t>(options.page_size)),
      cache_(options),
      strings_(static_cast<std::size_t>(namespaces)),
      pages_(static_cast<std::size_t>(options.pages),
             std::vector<std::uint64_t>(page_size_, kPoison)) {
  for (int i = 0; i < namespaces; ++i) {
    name_spaces_.push_back(cache_.OpenNamespace("tenant " + std::to_string(i)));
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

ModelledCache::Work& ModelledCache::Open(std::size_t name_space, const Tokens& tokens,
                                         std::int64_t max_tokens) {
  const std::int64_t match = cache_.MatchLength(name_spaces_[name_space], tokens);
  const std::int64_t cached = std::max(match, LongestOpen(name_space, tokens));
  EXPECT_LE(match, LongestEver(name_space, tokens));
  const PrefixCache::Preview preview =
      cache_.PreviewOpen(name_spaces_[name_space], tokens, max_tokens);
  const std::int64_t available = cache_.available_pages();
  works_.push_back(
      {cache_.Open(name_spaces_[name_space], tokens, max_tokens), name_space, {}, true});
  Work& work = works_.back();
  EXPECT_EQ(work.view.tokens(), std::min(cached, max_tokens));
  EXPECT_EQ(preview.tokens, work.view.tokens());
  EXPECT_EQ(preview.leased_pages, work.view.leased_pages());
  EXPECT_EQ(preview.pinned_pages, available - cache_.available_pages());
  EXPECT_EQ(cache_.MatchLength(name_spaces_[name_space], tokens), match) << "opening changed it";
  work.tokens.assign(tokens.begin(), tokens.begin() + work.view.tokens());
  return work;
}

bool ModelledCache::Grow(Work& work, std::int32_t pages) {
  const std::int64_t available = cache_.available_pages();
  const std::int64_t free = cache_.stats().pages[static_cast<int>(PageState::kFree)];
  const std::int64_t evicted = cache_.stats().evicted_pages;
  const std::size_t before = work.view.page_table().size();
  const bool grown = cache_.Grow(work.view, pages);
  EXPECT_EQ(grown, pages <= available);
  EXPECT_EQ(cache_.stats().evicted_pages - evicted,
            grown ? std::max<std::int64_t>(0, pages - free) : 0)
      << "evicted without need, or not enough";
  EXPECT_EQ(cache_.available_pages(), available - (grown ? pages : 0));
  EXPECT_EQ(work.view.page_table().size(), before + static_cast<std::size_t>(grown ? pages : 0));
  for (const PageId page : work.view.page_table().subspan(before)) {
    std::fill(pages_[static_cast<std::size_t>(page)].begin(),
              pages_[static_cast<std::size_t>(page)].end(), kPoison);
  }
  return grown;
}

void ModelledCache::MakeCopy(Work& work) {
  const std::optional<PageCopy> copy = cache_.PendingCopy(work.view);
  if (!copy.has_value()) return;
  const auto& from = pages_[static_cast<std::size_t>(copy->from)];
  std::copy_n(from.begin(), copy->slots, pages_[static_cast<std::size_t>(copy->to)].begin());
  cache_.CopyDone(work.view);
  EXPECT_FALSE(cache_.PendingCopy(work.view).has_value());
}

void ModelledCache::Append(Work& work, const Tokens& tokens, PrefixCache::Exactness exactness) {
  for (const TokenId token : tokens) {  // the step writes before the cache is told
    const std::size_t at = work.tokens.size();
    work.tokens.push_back(token);
    const auto page = static_cast<std::size_t>(work.view.page_table()[at / page_size_]);
    pages_[page][at % page_size_] = Content(work, at + 1);
  }
  cache_.Append(work.view, tokens, exactness);
  if (exactness == PrefixCache::Exactness::kInexact) work.shareable = false;
  if (work.shareable) Remember(work, work.tokens.size() / page_size_ * page_size_);
}

void ModelledCache::Close(std::size_t index, PrefixCache::Tail tail) {
  Work& work = works_[index];
  if (work.shareable && tail == PrefixCache::Tail::kAdopt) Remember(work, Readable(work));
  cache_.Close(work.view, tail);
  EXPECT_FALSE(work.view.is_open());
  if (index + 1 < works_.size()) std::swap(works_[index], works_.back());  // moves views about
  works_.pop_back();
}

void ModelledCache::Flush(std::size_t name_space) {
  cache_.Flush(name_spaces_[name_space]);
  strings_[name_space].clear();
  for (Work& work : works_) {
    if (work.name_space == name_space) work.shareable = false;
  }
}

void ModelledCache::StartWatch(std::size_t name_space, const Tokens& tokens) {
  watches_.push_back(std::make_unique<Watched>());
  Watched& watched = *watches_.back();
  watched.name_space = name_space;
  watched.tokens = tokens;
  cache_.StartWatch(watched.watch, name_spaces_[name_space], watched.tokens);
  watched.length = watched.watch.cached_tokens();
}

void ModelledCache::StopWatch(std::size_t index) {
  std::swap(watches_[index], watches_.back());
  if (watches_.size() % 2 == 0) cache_.StopWatch(watches_.back()->watch);  // else its end does it
  watches_.pop_back();
}

void ModelledCache::CheckAll() {
  const absl::Status status = cache_.CheckInvariants();
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (const Work& work : works_) CheckView(work);
  CheckWatches();
}

void ModelledCache::CheckWatches() {
  while (Watch* const changed = cache_.TakeChanged()) {
    auto& watched = *static_cast<Watched*>(changed->owner());
    ASSERT_NE(watched.length, changed->cached_tokens()) << "handed out unchanged";
    watched.length = changed->cached_tokens();
  }
  for (const std::unique_ptr<Watched>& watched : watches_) {
    ASSERT_EQ(watched->watch.cached_tokens(),
              cache_.MatchLength(name_spaces_[watched->name_space], watched->tokens));
    ASSERT_EQ(watched->length, watched->watch.cached_tokens()) << "changed and not handed out";
  }
}

void ModelledCache::CheckView(const Work& work) const {
  ASSERT_EQ(work.view.tokens(), static_cast<std::int64_t>(work.tokens.size()));
  std::uint64_t hash = work.name_space + 1;
  for (std::size_t i = 0; i < Readable(work); ++i) {
    hash = Mix(hash, static_cast<std::uint64_t>(work.tokens[i]));
    const auto page = static_cast<std::size_t>(work.view.page_table()[i / page_size_]);
    ASSERT_EQ(pages_[page][i % page_size_], hash) << "slot " << i << " of page " << page;
  }
  if (work.shareable) {
    ASSERT_GE(cache_.MatchLength(name_spaces_[work.name_space], work.tokens),
              static_cast<std::int64_t>(Leased(work)))
        << "leased pages are not found";
  }
}

std::size_t ModelledCache::Leased(const Work& work) const {
  return static_cast<std::size_t>(work.view.leased_pages()) * page_size_;
}

// Until its copy is made, the slots after the leased pages are not there yet.
std::size_t ModelledCache::Readable(const Work& work) const {
  const bool copied = work.tokens.size() <= work.view.page_table().size() * page_size_ &&
                      !cache_.PendingCopy(work.view).has_value();
  return copied ? work.tokens.size() : Leased(work);
}

void ModelledCache::Remember(const Work& work, std::size_t tokens) {
  if (tokens == 0) return;
  strings_[work.name_space].emplace(work.tokens.begin(),
                                    work.tokens.begin() + static_cast<std::ptrdiff_t>(tokens));
}

std::size_t ModelledCache::Room(const Work& work) const {
  return work.view.page_table().size() * page_size_ - work.tokens.size();
}

std::int64_t ModelledCache::LongestOpen(std::size_t name_space,
                                        std::span<const TokenId> tokens) const {
  std::size_t longest = 0;
  for (const Work& work : works_) {
    if (work.name_space != name_space || !work.shareable) continue;
    const auto written = std::span<const TokenId>(work.tokens).first(Readable(work));
    longest = std::max(longest, CommonPrefix(written, tokens));
  }
  return static_cast<std::int64_t>(longest);
}

std::int64_t ModelledCache::LongestEver(std::size_t name_space,
                                        std::span<const TokenId> tokens) const {
  std::size_t longest = 0;
  for (const Tokens& string : strings_[name_space]) {
    longest = std::max(longest, CommonPrefix(string, tokens));
  }
  return static_cast<std::int64_t>(longest);
}

std::int64_t ModelledCache::PagesEver() const {
  std::int64_t pages = 0;
  for (const std::set<Tokens>& strings : strings_) {
    std::set<Tokens> paths;  // each ends where a page ends, or is a whole string
    for (const Tokens& string : strings) {
      for (std::size_t end = page_size_; end < string.size() + page_size_; end += page_size_) {
        const std::size_t length = std::min(end, string.size());
        paths.emplace(string.begin(), string.begin() + static_cast<std::ptrdiff_t>(length));
      }
    }
    // A tail that another path continues within its page has been replaced by that page.
    for (auto path = paths.begin(); path != paths.end(); ++path) {
      const auto next = std::next(path);
      const bool is_tail = path->size() % page_size_ != 0;
      const bool continued = next != paths.end() && CommonPrefix(*path, *next) == path->size();
      if (!is_tail || !continued) ++pages;
    }
  }
  return pages;
}

}  // namespace banyan::radix
