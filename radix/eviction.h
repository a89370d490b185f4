// Which leaf gives up its last page next. One small interface, so that another policy is a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/container/btree_set.h"

namespace banyan::radix {

// Holds exactly the leaves that have a page to give: unpinned, and not merely the source of a copy.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  // `last_use` is a logical time: larger is later. A leaf is not inserted twice.
  virtual void Insert(std::uint32_t leaf, std::uint64_t last_use) = 0;
  virtual void Erase(std::uint32_t leaf, std::uint64_t last_use) = 0;  // it was inserted so
  virtual std::uint32_t Victim() const = 0;  // not empty; the leaf stays in
  // The first of those to be victims in turn, as things are, into `leaves`; returns their number.
  virtual std::size_t Victims(std::span<std::uint32_t> leaves) const = 0;

  virtual std::size_t size() const = 0;
  // Whether `leaf` is in, with that last use (for the invariant checker).
  virtual bool Contains(std::uint32_t leaf, std::uint64_t last_use) const = 0;
};

// The least recently used leaf first; of equals, the one with the smaller index. A B-tree, O(log
// leaves): the first leaves, which are evicted, and the last ones, which were just used, stay in
// the processor's cache, where a heap would move entries all over.
class LruEviction final : public EvictionPolicy {
 public:
  void Insert(std::uint32_t leaf, std::uint64_t last_use) override;
  void Erase(std::uint32_t leaf, std::uint64_t last_use) override;
  std::uint32_t Victim() const override;
  std::size_t Victims(std::span<std::uint32_t> leaves) const override;
  std::size_t size() const override { return leaves_.size(); }
  bool Contains(std::uint32_t leaf, std::uint64_t last_use) const override;

 private:
  absl::btree_set<std::pair<std::uint64_t, std::uint32_t>> leaves_;  // last use, leaf
};

}  // namespace banyan::radix
