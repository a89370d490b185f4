#include "kernels/cpu/sealed_kv.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/require.h"

namespace banyan::kernels {
namespace {

const std::uint16_t* Halves(const std::byte* at) {
  return reinterpret_cast<const std::uint16_t*>(at);
}

}  // namespace

bool SealedKv::Allocate(const KvShape& shape) {
  Require(shape.open_pages > 0, "sealed pages have open ones beside them");
  KvShape open = shape;
  open.format = KvFormat::kF16;
  open.pages = shape.open_pages;
  return open_.Allocate(open) && sealed_.Allocate(shape);
}

SealedKv::Staged SealedKv::PagesOf(const RowRun& run) const {
  const std::int32_t page_size = shape().page_size;
  Require(0 <= run.open_page && run.open_page < shape().open_pages, "a run has an open page");
  return {.first = run.first_position / page_size,
          .last = (run.first_position + run.rows - 1) / page_size,
          .staged = 0,
          .open = run.open_page};
}

void SealedKv::Begin(std::span<const RowRun> runs, std::int32_t layer) {
  const std::int32_t page_size = shape().page_size;
  layer_ = layer;
  runs_.clear();
  full_.clear();
  std::int64_t staged = 0;
  for (const RowRun& run : runs) {
    Staged& pages = runs_.emplace_back(PagesOf(run));
    pages.staged = static_cast<std::int32_t>(staged);
    staged += pages.last - pages.first;
  }
  Reserve(static_cast<std::int32_t>(staged));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Staged& pages = runs_[i];
    if (pages.first < pages.last && runs[i].first_position % page_size != 0) {
      const auto from = open_.Layer(pages.open, layer);
      std::memcpy(staging_.Layer(pages.staged, 0).data(), from.data(), from.size());
    }
    const std::int64_t end = (runs[i].first_position + runs[i].rows) / page_size;
    for (std::int64_t page = pages.first; page < end; ++page)
      full_.push_back({PlaceOf(pages, page, layer), runs[i].page(page)});
  }
}

void SealedKv::Reserve(std::int32_t pages) {
  const std::int32_t has = staging_.shape().pages;
  if (pages <= has) return;
  KvShape one_layer = open_.shape();
  one_layer.layers = 1;
  one_layer.pages = std::max(pages, 2 * has);
  PageStore store;
  if (!store.Allocate(one_layer)) throw std::bad_alloc();
  staging_ = std::move(store);
}

SealedKv::Place SealedKv::PlaceOf(const Staged& run, std::int64_t page, std::int32_t layer) const {
  if (page == run.last) return {&open_, run.open, layer};
  return {&staging_, run.staged + static_cast<std::int32_t>(page - run.first), 0};
}

void SealedKv::Store(const Ops& ops, const float* key, const float* value, std::size_t run,
                     std::int64_t position, std::int32_t kv_head) {
  const std::int32_t page_size = shape().page_size;
  const Place place = PlaceOf(runs_[run], position / page_size, layer_);
  PageStore& store = place.store == &open_ ? open_ : staging_;
  store.Store(ops, key, value, place.page, place.layer, kv_head,
              static_cast<std::int32_t>(position % page_size));
}

void SealedKv::Seal(const Ops& ops, const Full& full, std::int32_t kv_head) {
  const auto [store, page, layer] = full.from;
  for (std::int32_t slot = 0; slot < shape().page_size; slot += kTileKeys) {
    sealed_.Seal(ops, {full.page, layer_, kv_head, slot / kTileKeys},
                 Halves(store->Key(page, layer, kv_head, slot)),
                 Halves(store->Value(page, layer, kv_head, slot)));
  }
}

SealedKv::Place SealedKv::Own(std::span<const RowRun> runs, std::size_t run, std::int64_t page,
                              std::int32_t layer) const {
  const Staged pages = PagesOf(runs[run]);
  Require(pages.first <= page && page <= pages.last, "an own page is one of the run's rows");
  if (page == pages.last) return PlaceOf(pages, page, layer);
  Require(layer == layer_ && run < runs_.size() && runs_[run].first == pages.first &&
              runs_[run].last == pages.last,
          "a run over several pages is attended to when it was stored");
  return PlaceOf(runs_[run], page, layer);
}

}  // namespace banyan::kernels
