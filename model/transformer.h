// A model made of a network, a backend and its page pool: everything about a step that does not
// depend on the architecture. One type-erased call per step; the rest is instantiated per backend.
//
// A network gives
//   Network(backend, shape, packer, max_rows, max_logit_rows)
//   Forward(step)        computes the rows and writes their keys and values to the pages
//   Head(rows)           the logits of those rows
//   Greatest(rows, out)  the token of the greatest logit of each, the first of equals; -1 where one
//                        is not finite; called where the host samples
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/backend.h"
#include "model/kv_pool.h"
#include "model/model.h"
#include "model/put_aside.h"
#include "model/sampled_reader.h"
#include "model/step.h"
#include "model/weights.h"

namespace banyan::model {

template <kernels::Backend B, class Network>
class Transformer final : public Model {
 public:
  using Shape = typename Network::Shape;

  // `tensors` has what `shape` needs, of the right type and size.
  static absl::StatusOr<std::unique_ptr<Model>> Load(const File& file, TensorSet& tensors,
                                                     const Options& options,
                                                     std::string_view architecture,
                                                     const Shape& shape,
                                                     std::unique_ptr<B> backend) {
    WeightPacker<B> packer(*backend, tensors);
    std::unique_ptr<Transformer> model(new Transformer(options, shape, packer, std::move(backend)));
    if (!packer.ok()) return packer.status();
    if (absl::Status status = model->AllocatePages(options); !status.ok()) return status;
    model->FillFacts(file, architecture, options, packer);
    return model;
  }

  const Facts& facts() const override { return facts_; }
  std::int32_t pages() const override { return limits_.pages; }

  absl::Status Forward(const Batch& batch, StepResult& result) override {
    step_.Lay(batch, limits_);
    result.step = batch.step;
    result.failed = false;
    result.sequences.assign(batch.sequences.size(), SequenceResult{});
    absl::Status status = Run(batch, result);
    if constexpr (kernels::DeviceBackend<B>) {
      if (const std::string failure = backend_->failure(); !failure.empty())
        status = absl::UnavailableError(absl::StrCat("the device failed: ", failure));
    }
    if (status.ok()) return status;
    result.failed = true;
    result.sequences.assign(batch.sequences.size(),
                            SequenceResult{});  // those before the fault too
    return status;
  }

  std::size_t page_bytes() const override { return backend_->page_bytes(); }
  void ReadPage(PageId page, std::span<std::byte> bytes) const override {
    CHECK(0 <= page && page < limits_.pages && bytes.size() == page_bytes());
    backend_->ReadPage(page, bytes);
  }
  void WritePage(PageId page, std::span<const std::byte> bytes) override {
    CHECK(0 <= page && page < limits_.pages && bytes.size() == page_bytes());
    backend_->WritePage(page, bytes);
  }

 private:
  using Logits = typename ReaderOf<B, Network>::Type;

  Transformer(const Options& options, const Shape& shape, WeightPacker<B>& packer,
              std::unique_ptr<B> backend)
      : backend_(std::move(backend)),
        shape_(shape),
        limits_{.max_rows = options.max_batch_tokens,
                .vocabulary_size = shape.vocabulary,
                .page_size = options.page_size,
                .pages = 0,
                .windows = shape.every_layer_sees_all(),
                .compacts = kernels::CompactingBackend<B> && shape.every_layer_sees_all() &&
                            !kernels::SealsPages(options.kv_format)},
        network_(*backend_, shape, packer, options.max_batch_tokens,
                 Logits::RowsAtOnce(options.max_batch_tokens)),
        logits_(*backend_, network_, shape.vocabulary,
                Logits::RowsAtOnce(options.max_batch_tokens)) {}

  absl::Status AllocatePages(const Options& options) {
    kernels::KvShape kv{.layers = shape_.layers,
                        .kv_heads = shape_.kv_heads,
                        .head_dim = shape_.head_dim,
                        .page_size = options.page_size,
                        .format = options.kv_format};
    if (absl::Status status = CheckFormat(kv); !status.ok()) return status;
    if (kernels::SealsPages(kv.format)) kv.open_pages = options.max_sequences;
    const std::int64_t bytes = B::PageBytes(kv);
    const std::int64_t open_bytes = kernels::OpenBytes(kv);
    kv.pages = PagesThatFit(options.kv_memory - open_bytes, bytes);
    absl::Status status = AllocatePages(kv);
    if constexpr (kernels::DeviceBackend<B>) {
      if (status.ok()) status = WarmUp();
      if (status.ok() && options.kv_memory == 0) {
        kv.pages = PagesThatFit(backend_->FreeBytes(), bytes);
        status = AllocatePages(kv);
      }
    }
    limits_.open_pages = kv.open_pages;
    facts_.kv_open_bytes = open_bytes;
    facts_.seals_pages = kernels::SealsPages(kv.format);
    return status;
  }

  absl::Status AllocatePages(const kernels::KvShape& kv) {
    const std::int64_t bytes = B::PageBytes(kv);
    const std::int64_t open_bytes = kernels::OpenBytes(kv);
    if (backend_->AllocatePages(kv)) {
      CHECK(backend_->page_bytes() == static_cast<std::size_t>(bytes));
      limits_.pages = kv.pages;
      return absl::OkStatus();
    }
    std::string text = absl::StrCat(
        "a KV pool of ", kv.pages, " pages of ", bytes, " bytes",
        open_bytes > 0 ? absl::StrCat(" and ", open_bytes, " bytes of open ones") : std::string(),
        " cannot be had");
    if constexpr (kernels::DeviceBackend<B>) {
      const std::int64_t free = backend_->FreeBytes();
      absl::StrAppend(&text, ": the device has ", free, " bytes free, which hold ",
                      free / bytes * kv.page_size, " tokens in ",
                      std::string(kernels::LayoutOf(kv.format).name));
    }
    return absl::ResourceExhaustedError(text);
  }

  // A device has its memory free for good only after a step: what driver and libraries take, they
  // take then. And whether it runs these kernels at all is known before anybody asks.
  absl::Status WarmUp() {
    const TokenId token[] = {0};
    const PageId page[] = {0};
    Batch batch;
    batch.sequences.push_back({.tokens = token,
                               .pages = page,
                               .logits = banyan::Logits::kSampleLast,
                               .sampling = {.temperature = 0},
                               .wants_logprob = false});
    StepResult result;
    const absl::Status status = Forward(batch, result);
    return absl::IsUnavailable(status) ? status : absl::OkStatus();
  }

  void FillFacts(const File& file, std::string_view architecture, const Options& options,
                 const WeightPacker<B>& packer) {
    facts_.name = file.metadata().String("general.name").value_or(architecture);
    facts_.architecture = architecture;
    facts_.vocabulary_size = shape_.vocabulary;
    facts_.context_length = shape_.context;
    facts_.layers = shape_.layers;
    facts_.heads = shape_.heads;
    facts_.kv_heads = shape_.kv_heads;
    facts_.head_dim = shape_.head_dim;
    facts_.every_layer_sees_all = shape_.every_layer_sees_all();
    facts_.compacts = limits_.compacts;
    facts_.parameters = packer.parameters();
    facts_.weight_bytes = packer.bytes();
    facts_.kv_bytes_per_token = static_cast<std::int64_t>(page_bytes()) / limits_.page_size;
    facts_.kv_dtype = kernels::LayoutOf(options.kv_format).name;
    (kernels::DeviceBackend<B> ? facts_.device : facts_.cpu_variant) = backend_->variant();
  }

  absl::Status Run(const Batch& batch, StepResult& result) {
    try {
      backend_->TakeThread();
      aside_.Move(batch, *this);
      backend_->CopySlots(step_.copies());
      if constexpr (kernels::CompactingBackend<B>) backend_->Compact(step_.compactions());
      if (step_.rows() > 0) network_.Forward(step_);
      return logits_.Read(batch, step_.logit_rows(), result);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("no memory for the step");
    }
  }

  const std::unique_ptr<B> backend_;
  const Shape shape_;
  StepLimits limits_;
  Network network_;  // its buffers and weights are the backend's
  Logits logits_;
  Facts facts_;
  Step step_;  // the one that runs
  PutAside aside_;
};

}  // namespace banyan::model
