// Products with weights, as a step computes them, at every number of rows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/bench/bed.h"
#include "server/bench/gauge.h"

namespace banyan::server {
namespace {

using kernels::CpuBackend;
using kernels::DType;

constexpr std::array<std::int32_t, 4> kRows = {1, 4, 16, 256};
constexpr std::int32_t kPrefillRows = 256;  // rarely one of them asks for the vocabulary
constexpr std::int64_t kMaxCopies = 4096;

// "ffn_gate ffn_up  Q4_1 3072 x 576"
std::string NameOf(const ProductShape& product) {
  std::string types;
  std::int64_t outputs = 0;
  DType last = DType::kF32;
  for (const MatrixShape& matrix : product.matrices) {
    if (types.empty() || matrix.type != last) {
      absl::StrAppend(&types, types.empty() ? "" : "+",
                      std::string(kernels::ShapeOf(matrix.type).name));
    }
    last = matrix.type;
    outputs += matrix.outputs;
  }
  return absl::StrCat(product.names, "  ", types, " ", outputs, " x ", product.cols);
}

// The weights of one product, so often that they come from memory, and what it reads and writes.
class ProductBench {
 public:
  ProductBench(const Gauge& gauge, const ProductShape& product)
      : product_(product),
        bed_(gauge.MakeBackend()),
        in_(bed_.Input(kPrefillRows, product.cols)),
        gated_(bed_.backend().MakeInput(
            kPrefillRows, static_cast<std::int32_t>(product.matrices.front().outputs))) {
    for (const MatrixShape& matrix : product.matrices) {
      outputs_.push_back(
          bed_.backend().MakeActivations(kPrefillRows, static_cast<std::int32_t>(matrix.outputs)));
    }
    do {
      copies_.push_back(Weights());
    } while (std::ssize(copies_) < std::min(kMaxCopies, kRotationBytes / bytes()));
  }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const CpuBackend::Matrix& matrix : copies_.front()) sum += matrix.bytes();
    return sum;
  }

  KernelWork WorkOf(std::int32_t rows) const {
    KernelWork work = {.memory_bytes = static_cast<double>(bytes())};
    for (const MatrixShape& matrix : product_.matrices) {
      work.products[matrix.type] += static_cast<double>(matrix.outputs * product_.cols * rows);
    }
    return work;
  }

  void Run(std::int64_t call, std::int32_t rows) {
    const auto& weights = copies_[static_cast<std::size_t>(call % std::ssize(copies_))];
    if (product_.kind == ProductKind::kGated) {
      bed_.backend().MatMulGate(kernels::GateFunction::kSilu, weights[0], weights[1], in_, rows,
                                gated_);
      return;
    }
    if (product_.kind == ProductKind::kGreatest) {
      bed_.backend().MatMulGreatest(weights[0], in_,
                                    std::span(greatest_).first(static_cast<std::size_t>(rows)));
      return;
    }
    std::vector<CpuBackend::Product> products;
    for (std::size_t i = 0; i < weights.size(); ++i) products.push_back({weights[i], &outputs_[i]});
    bed_.backend().MatMulEach(products, in_, rows);
  }

 private:
  std::vector<CpuBackend::Matrix> Weights() {
    std::vector<CpuBackend::Matrix> weights;
    for (const MatrixShape& matrix : product_.matrices)
      weights.push_back(bed_.Weights(matrix.type, matrix.outputs, product_.cols));
    return weights;
  }

  const ProductShape& product_;
  Bed bed_;
  std::vector<std::vector<CpuBackend::Matrix>> copies_;
  CpuBackend::Input in_;
  CpuBackend::Input gated_;
  std::vector<std::int32_t> greatest_ = std::vector<std::int32_t>(kPrefillRows);
  std::vector<CpuBackend::Activations> outputs_;
};

// All products of a step, from those of one shape.
void AddToStep(const ProductShape& product, const KernelResult& result, KernelResult& step) {
  if (product.vocabulary && step.rows == kPrefillRows) return;
  step.work.memory_bytes += product.times * result.work.memory_bytes;
  for (const auto& [type, count] : result.work.products)
    step.work.products[type] += product.times * count;
  step.seconds += product.times * result.seconds;
  step.least.seconds += product.times * result.least.seconds;
}

}  // namespace

void MeasureProducts(Gauge& gauge) {
  for (const ProductShape& product : gauge.shape.products) {
    ProductBench bench(gauge, product);
    for (const std::int32_t rows : kRows) {
      const double seconds =
          QuickestCall(gauge.slice, [&](std::int64_t call) { bench.Run(call, rows); });
      gauge.Add(KernelGroup::kProducts, NameOf(product), rows, bench.WorkOf(rows), seconds);
    }
  }
}

void AddSteps(Gauge& gauge) {
  std::vector<KernelResult>& kernels = gauge.report.kernels;
  const std::vector<ProductShape>& products = gauge.shape.products;
  std::array<KernelResult, kRows.size()> steps;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    KernelResult& step = steps[i];
    step.rows = kRows[i];
    step.name = kRows[i] == kPrefillRows ? "all of a prefill step" : "all of a step";
    for (std::size_t p = 0; p < products.size(); ++p)
      AddToStep(products[p], kernels[p * kRows.size() + i], step);
    step.least.bound = LeastTime(step.work, gauge.report.roofs).bound;
  }
  const auto end = kernels.begin() + static_cast<std::ptrdiff_t>(products.size() * kRows.size());
  kernels.insert(end, std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
}

}  // namespace banyan::server
