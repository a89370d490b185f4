#include "kernels/cpu/prefix_order.h"

#include <algorithm>

namespace banyan::kernels {
namespace {

std::span<const std::int32_t> SeenPages(const RowRun& run, std::int32_t page_size, OwnPage own) {
  if (run.pages_per_head > 0) return {};
  const std::int64_t keys = ChunkedKeys(own, page_size, run.first_slot() + run.rows - 1);
  const std::int64_t pages =
      run.dropped_pages > 0 ? run.front_pages : (keys + page_size - 1) / page_size;
  return run.pages.first(static_cast<std::size_t>(pages));
}

}  // namespace

std::span<const PrefixOrder::Place> PrefixOrder::Of(std::span<const RowRun> runs,
                                                    std::int32_t page_size, OwnPage own) {
  if (Keeps(runs, page_size, own)) return places_;
  tables_.clear();  // after a failed allocation nothing is kept
  pages_.clear();
  places_.clear();
  for (const RowRun& run : runs) {
    const auto pages = SeenPages(run, page_size, own);
    places_.push_back({static_cast<std::int32_t>(places_.size()), 0});
    pages_.insert(pages_.end(), pages.begin(), pages.end());
  }
  tables_.reserve(runs.size());
  std::int64_t first = 0;
  for (const RowRun& run : runs) {
    const auto count = std::ssize(SeenPages(run, page_size, own));
    tables_.push_back({first, count});
    first += count;
  }
  page_size_ = page_size;

  const auto before = [&](const Place& a, const Place& b) {
    const Table& left = tables_[static_cast<std::size_t>(a.run)];
    const Table& right = tables_[static_cast<std::size_t>(b.run)];
    const std::int64_t shared = SharedPages(left, right);
    if (shared == left.count || shared == right.count)
      return left.count != right.count ? left.count < right.count : a.run < b.run;
    return pages_[static_cast<std::size_t>(left.first + shared)] <
           pages_[static_cast<std::size_t>(right.first + shared)];
  };
  std::sort(places_.begin(), places_.end(), before);
  for (std::size_t i = 1; i < places_.size(); ++i) {
    places_[i].shared_keys =
        page_size * SharedPages(tables_[static_cast<std::size_t>(places_[i - 1].run)],
                                tables_[static_cast<std::size_t>(places_[i].run)]);
  }
  return places_;
}

bool PrefixOrder::Keeps(std::span<const RowRun> runs, std::int32_t page_size, OwnPage own) const {
  if (page_size != page_size_ || runs.size() != tables_.size()) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto pages = SeenPages(runs[i], page_size, own);
    const Table& table = tables_[i];
    if (std::ssize(pages) != table.count ||
        !std::equal(pages.begin(), pages.end(), pages_.begin() + table.first))
      return false;
  }
  return true;
}

std::int64_t PrefixOrder::SharedPages(const Table& a, const Table& b) const {
  const auto left = pages_.begin() + a.first;
  const std::int64_t count = std::min(a.count, b.count);
  return std::mismatch(left, left + count, pages_.begin() + b.first).first - left;
}

}  // namespace banyan::kernels
