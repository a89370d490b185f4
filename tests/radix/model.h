// A prefix cache under test beside a naive model of it.
//
// The model is a map, for each namespace: from a path of tokens that ends where a page of the tree
// ends to that page. It computes every answer by looking at all of them, knows what may be evicted
// and in what order, and which namespaces are forgotten. It also has page contents: each slot holds
// a hash of the token path that was written to it through a page table, so that a page which is not
// what its reader believes is seen at the next read.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {

class ModelledCache {
 public:
  // A request's view, and what the model knows of it.
  struct Work {
    View view;
    std::size_t name_space = 0;
    Tokens tokens{};          // of the valid slots
    PageGap gap{};            // what was dropped of it
    bool shareable = true;    // what it appends is published
    bool is_private = false;  // something was appended that was not
    bool current = true;      // opened since the last flush
  };

  // A prompt whose cached length is watched, and what TakeChanged said of it.
  struct Watched {
    std::size_t name_space = 0;
    Tokens tokens;
    std::int64_t length = 0;
    Watch watch{this};  // the watched is its owner
  };

  ModelledCache(const Options& options, int namespaces);

  // Each does the operation on the cache and in the model, and checks the one against the other,
  // with GoogleTest expectations.
  Work& Open(std::size_t name_space, const Tokens& tokens, std::int64_t max_tokens);
  bool Grow(Work& work, std::int32_t pages);
  void MakeCopy(Work& work);  // the pending copy, if there is one
  void Append(Work& work, const Tokens& tokens, PrefixCache::Exactness exactness);
  void Drop(Work& work, std::int64_t front, std::int64_t until);  // of a private one
  void Close(std::size_t work, PrefixCache::Tail tail);
  void Flush(std::size_t name_space);
  void StartWatch(std::size_t name_space, const Tokens& tokens);
  void StopWatch(std::size_t index);
  void CheckAll();
  // That a match of `tokens` has the length that it should.
  void CheckMatch(std::size_t name_space, const Tokens& tokens);

  PrefixCache& cache() { return cache_; }
  std::deque<Work>& works() { return works_; }
  const std::deque<Work>& works() const { return works_; }
  std::size_t watches() const { return watches_.size(); }
  std::size_t name_spaces() const { return spaces_.size(); }
  // How many more tokens the pages of `work` have room for.
  std::size_t Room(const Work& work) const;

 private:
  // A page of the tree. Its last use is a logical time between these two: whether the use of a part
  // of a page counts depends on whether others follow it in its edge, which is not modelled.
  struct Cached {
    PageId page = kNoPage;
    std::int64_t used_from = 0;
    std::int64_t used_to = 0;
  };
  struct Space {
    std::string name;
    NamespaceId id{};
    bool known = false;
    std::map<Tokens, Cached> pages{};  // by path
  };

  NamespaceId Id(std::size_t name_space);  // opens it
  std::int64_t LongestCached(const Space& space, std::span<const TokenId> tokens) const;
  std::int64_t LongestOpen(std::size_t name_space, std::span<const TokenId> tokens) const;
  std::int64_t Shared(std::size_t tokens) const;  // of a match of so many
  void UsePath(Space& space, std::span<const TokenId> tokens);
  void UsePart(Space& space, std::span<const TokenId> tokens);
  void Enter(Space& space, std::span<const TokenId> path, PageId page);
  bool IsLeased(std::size_t name_space, const Tokens& path) const;
  bool IsLeaf(const Space& space, const Tokens& path) const;
  bool IsSource(PageId page) const;
  std::int64_t Evictable(std::size_t name_space) const;
  std::vector<std::size_t> CheckEvicted(std::int64_t pages);
  void SettleSpaces(std::span<const std::size_t> first = {});
  bool InUse(std::size_t name_space) const;

  std::uint64_t Content(const Work& work, std::size_t tokens) const;
  void CheckView(const Work& work) const;
  void CheckPages() const;
  void CheckWatches();
  std::size_t Slots(const Work& work) const;  // with those of pages that were dropped
  std::size_t PageOf(const Work& work, std::size_t token) const;
  std::size_t Leased(const Work& work) const;    // tokens on leased pages
  std::size_t Readable(const Work& work) const;  // tokens whose slots were written

  const std::size_t page_size_;
  const std::size_t max_empty_;
  const Eviction eviction_;  // the order of evictions is modelled for LRU
  const Sharing sharing_;
  PrefixCache cache_;
  std::vector<Space> spaces_;
  std::deque<std::size_t> empty_;  // namespaces, the longest empty first
  std::int64_t uses_ = 0;
  std::vector<std::vector<std::uint64_t>> contents_;  // by page and slot
  std::deque<Work> works_;
  std::vector<std::unique_ptr<Watched>> watches_;
};

}  // namespace banyan::radix
