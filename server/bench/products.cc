// Products with weights, at every number of rows.
#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/bench/bed.h"
#include "server/bench/gauge.h"

namespace banyan::server {
namespace {

using kernels::CpuBackend;

constexpr std::array<std::int32_t, 4> kRows = {1, 4, 16, 256};
constexpr std::int32_t kPrefillRows = 256;  // rarely one of them asks for the vocabulary
constexpr std::int64_t kMaxCopies = 4096;

// All products of a step, from those of one shape.
void AddToStep(const ProductShape& product, const KernelResult& result, KernelResult& step) {
  if (product.vocabulary && step.rows == kPrefillRows) return;
  step.work.memory_bytes += product.times * result.work.memory_bytes;
  step.work.products += product.times * result.work.products;
  step.seconds += product.times * result.seconds;
  step.least.seconds += product.times * result.least.seconds;
  step.least.bound = result.least.bound;
}

}  // namespace

void MeasureProducts(Gauge& gauge) {
  std::array<KernelResult, kRows.size()> steps;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    steps[i].rows = kRows[i];
    steps[i].name = kRows[i] == kPrefillRows ? "all of a prefill step" : "all of a step";
  }
  for (const ProductShape& product : gauge.shape.products) {
    Bed bed(gauge.MakeBackend());
    std::vector<CpuBackend::Matrix> copies = {
        bed.Weights(product.type, product.outputs, product.cols)};
    const std::int64_t bytes = copies.front().bytes();
    while (std::ssize(copies) < std::clamp<std::int64_t>(kRotationBytes / bytes, 1, kMaxCopies)) {
      copies.push_back(bed.Weights(product.type, product.outputs, product.cols));
    }
    const CpuBackend::Input in = bed.Input(kPrefillRows, product.cols);
    CpuBackend::Activations out =
        bed.backend().MakeActivations(kPrefillRows, static_cast<std::int32_t>(product.outputs));
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      const double seconds = QuickestCall(gauge.slice, [&](std::int64_t call) {
        bed.backend().MatMul(copies[static_cast<std::size_t>(call % std::ssize(copies))], in,
                             kRows[i], out);
      });
      const KernelWork work = {
          .memory_bytes = static_cast<double>(bytes),
          .products = static_cast<double>(product.outputs * product.cols * kRows[i]),
          .type = product.type};
      const KernelResult& result = gauge.Add(
          KernelGroup::kProducts,
          absl::StrCat(product.names, "  ", std::string(kernels::ShapeOf(product.type).name), " ",
                       product.outputs, " x ", product.cols),
          kRows[i], work, seconds);
      AddToStep(product, result, steps[i]);
    }
  }
  for (KernelResult& step : steps) gauge.report.kernels.push_back(std::move(step));
}

}  // namespace banyan::server
