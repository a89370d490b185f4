// Which leaf gives up its last page next. One small interface, so that another policy is a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace banyan::radix {

// Holds exactly the leaves that have a page to give: unpinned, and not merely the source of a copy.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  // `last_use` is a logical time: larger is later. A leaf is not inserted twice.
  virtual void Insert(std::uint32_t leaf, std::uint64_t last_use) = 0;
  virtual void Erase(std::uint32_t leaf) = 0;  // it was inserted
  virtual std::uint32_t Victim() const = 0;    // not empty; the leaf stays in

  virtual std::size_t size() const = 0;
  // Whether `leaf` is in, with that last use (for the invariant checker).
  virtual bool Contains(std::uint32_t leaf, std::uint64_t last_use) const = 0;
};

// The least recently used leaf first; of equals, the one with the smaller index. A binary heap that
// knows where each leaf is: O(log leaves) for Insert and Erase, O(1) for Victim.
class LruEviction final : public EvictionPolicy {
 public:
  void Insert(std::uint32_t leaf, std::uint64_t last_use) override;
  void Erase(std::uint32_t leaf) override;
  std::uint32_t Victim() const override;
  std::size_t size() const override { return heap_.size(); }
  bool Contains(std::uint32_t leaf, std::uint64_t last_use) const override;

 private:
  struct Entry {
    std::uint64_t last_use;
    std::uint32_t leaf;
  };
  static bool Before(const Entry& a, const Entry& b) {
    return a.last_use != b.last_use ? a.last_use < b.last_use : a.leaf < b.leaf;
  }
  void Place(std::size_t at, const Entry& entry);
  void SiftUp(std::size_t at, const Entry& entry);
  void SiftDown(std::size_t at, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;  // by leaf: its place in heap_, or kAbsent
};

}  // namespace banyan::radix
