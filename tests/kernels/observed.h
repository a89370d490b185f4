// Sequences whose keys and values are put into pages as they are, and who is asked what they see.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/observers.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/thread_pool.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

struct ObservedKind {
  KvFormat format = KvFormat::kF16;
  std::int32_t page_size = 16;
  std::int32_t group = 1;  // query heads per KV head
};

// A store of pages, threads and observers. What is random is a function of layer, head and
// position.
class Observed {
 public:
  static constexpr std::int32_t kLayers = 2;
  static constexpr std::int32_t kKvHeads = 2;
  static constexpr std::int32_t kHeadDim = 16;
  static constexpr std::int32_t kSlots = 400;  // of all pages
  static constexpr float kScale = 0.3F;

  explicit Observed(const ObservedKind& kind, std::int32_t threads = 1);

  // So many slots' pages that nobody has.
  std::vector<std::int32_t> Take(std::int64_t slots);
  // The rows of `run` for all layers: keys and values are written, and observers note.
  void Run(const RowRun& run) { Run(std::span(&run, 1)); }
  void Run(std::span<const RowRun> runs);
  // As Run, in steps of so many rows.
  void RunChunks(RowRun run, std::int32_t rows);
  void Compact(const KvCompaction& compaction) { observers.Compact(pages, {&compaction, 1}); }

  // Of a head's slot: its key, exactly as pages have it; and all that they have of it.
  std::vector<double> Key(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                          std::int32_t slot) const;
  std::vector<std::byte> Bytes(std::span<const std::int32_t> table, std::int32_t layer,
                               std::int32_t kv_head, std::int64_t slot) const;

  // Softmax probabilities of slots 0 .. slots - 1 for the query of the token at `position`, in
  // double, summed over the heads of the group.
  std::vector<double> Probabilities(std::span<const std::int32_t> table, std::int32_t layer,
                                    std::int32_t kv_head, std::int64_t position,
                                    std::int64_t slots) const;

  // What the queries, or keys, of a position are instead, in all layers and heads.
  void SpoilQuery(std::int64_t position, std::int32_t head) { bad_query_ = {position, head}; }
  void SpoilKey(std::int64_t position) { bad_key_ = position; }

  const ObservedKind kind;
  ThreadPool pool;
  PageStore pages;
  Observers observers;

 private:
  struct Place {
    std::int64_t position = -1;
    std::int32_t head = 0;
  };
  Row QueryRow(std::int32_t layer, std::int64_t position) const;

  std::int32_t next_page_ = 0;
  Place bad_query_;
  std::int64_t bad_key_ = -1;
};

}  // namespace banyan::kernels::testing
