// Runs whose queries choose the pages that they attend to (page_choice.h), as attention reads them:
// a run for each such row, whose table names the chosen pages only, other ones for each KV head.
// What is chosen is a function of the row's query and of the pages before it alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_bounds.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class PageChooser {
 public:
  struct Call {
    const PageStore* pages = nullptr;
    std::int32_t layer = 0;
    std::int32_t heads = 0;
    std::span<const RowRun> runs;
    const float* q = nullptr;  // [rows, heads, head_dim], rows `stride` apart
    std::int64_t stride = 0;
  };

  PageChooser(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool), bounds_(ops, pool) {}

  // call.runs themselves where nobody chooses in the layer. Valid until the next call, and as long
  // as they are.
  std::span<const RowRun> Choose(const Call& call);

  // Pages are written: all of a page; or what the rows of the runs write in a layer.
  void Written(std::int32_t page) { bounds_.Forget(page); }
  void Written(std::span<const RowRun> runs, std::int32_t page_size, std::int32_t layer);

 private:
  // A row with more pages than its choice has.
  struct Task {
    const RowRun* run = nullptr;
    std::int32_t row = 0;    // of the run
    std::size_t chosen = 0;  // in chosen_
    std::int64_t table = 0;  // in tables_: [kv_heads, pages of the choice]
    std::int64_t pages = 0;  // that it sees, its own among them
  };
  // Of one thread.
  struct Scratch {
    std::vector<float> above;  // of the queries of a head, as BoundQueries has them
    std::vector<float> below;
    std::vector<float> scores;
    std::vector<std::int32_t> order;
  };

  void List(const Call& call, const RowRun& run);
  void ReadBounds(const Call& call);
  void ChooseOf(const Call& call, const Task& task, std::int32_t kv_head, Scratch& scratch);

  const Ops& ops_;
  ThreadPool& pool_;
  PageBounds bounds_;
  std::vector<RowRun> chosen_;
  std::vector<Task> tasks_;
  std::vector<std::int32_t> tables_;
  std::vector<std::int32_t> wanted_;
  std::vector<Scratch> scratch_;  // by thread
};

}  // namespace banyan::kernels
