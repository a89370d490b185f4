// A prefix cache under test beside a naive model of it.
//
// The model knows, for each namespace, the token strings that should be cached, and computes every
// answer by looking at all of them. It also has page contents: each slot holds a hash of the token
// path that was written to it through a page table, so that a page which is not what its reader
// believes is seen at the next read.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
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
    Tokens tokens;          // of the valid slots
    bool shareable = true;  // what it appends is published
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
  void Close(std::size_t work, PrefixCache::Tail tail);
  void Flush(std::size_t name_space);
  void StartWatch(std::size_t name_space, const Tokens& tokens);
  void StopWatch(std::size_t index);
  void CheckAll();

  PrefixCache& cache() { return cache_; }
  std::deque<Work>& works() { return works_; }
  std::size_t watches() const { return watches_.size(); }
  // How many more tokens the pages of `work` have room for.
  std::size_t Room(const Work& work) const;
  // The longest prefix of `tokens` that some view has computed and publishes.
  std::int64_t LongestOpen(std::size_t name_space, std::span<const TokenId> tokens) const;
  // The longest prefix of `tokens` that would be in the tree if nothing was ever evicted.
  std::int64_t LongestEver(std::size_t name_space, std::span<const TokenId> tokens) const;
  // Pages that would be in the tree if nothing was ever evicted: each distinct one once.
  std::int64_t PagesEver() const;

 private:
  std::uint64_t Content(const Work& work, std::size_t tokens) const;
  void CheckView(const Work& work) const;
  std::size_t Leased(const Work& work) const;    // tokens on leased pages
  std::size_t Readable(const Work& work) const;  // tokens whose slots were written
  void CheckWatches();
  void Remember(const Work& work, std::size_t tokens);

  const std::size_t page_size_;
  PrefixCache cache_;
  std::vector<NamespaceId> name_spaces_;
  std::vector<std::set<Tokens>> strings_;          // by namespace: what was published or adopted
  std::vector<std::vector<std::uint64_t>> pages_;  // by page and slot
  std::deque<Work> works_;
  std::vector<std::unique_ptr<Watched>> watches_;
};

}  // namespace banyan::radix
