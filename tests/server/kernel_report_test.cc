// What `banyan bench kernels` says of what it measured, and at which shapes it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstdlib>
#include <string>

#include "server/bench/measurement.h"
#include "server/bench/report.h"
#include "server/bench/shapes.h"

namespace banyan::server {
namespace {

using kernels::DType;
using ::testing::HasSubstr;

Roofs SomeRoofs() {
  return {.memory = 10e9, .cache = 100e9, .products = {{DType::kF32, 20e9}, {DType::kQ4_1, 80e9}}};
}

TEST(LeastTime, IsThatOfTheRoofWhichTakesLongest) {
  const Roofs roofs = SomeRoofs();
  Least least = LeastTime({.memory_bytes = 10e6, .products = {{DType::kQ4_1, 8e6}}}, roofs);
  EXPECT_EQ(least.bound, Bound::kMemory);
  EXPECT_DOUBLE_EQ(least.seconds, 1e-3);
  least = LeastTime({.memory_bytes = 10e6, .products = {{DType::kQ4_1, 160e6}}}, roofs);
  EXPECT_EQ(least.bound, Bound::kProducts);
  EXPECT_DOUBLE_EQ(least.seconds, 2e-3);
  least = LeastTime({.memory_bytes = 1e6, .cache_bytes = 300e6}, roofs);
  EXPECT_EQ(least.bound, Bound::kCache);
  EXPECT_DOUBLE_EQ(least.seconds, 3e-3);
}

TEST(LeastTime, HoldsProductsAgainstTheRoofOfTheirType) {
  const KernelWork both = {.products = {{DType::kQ4_1, 80e6}, {DType::kF32, 80e6}}};
  EXPECT_DOUBLE_EQ(LeastTime(both, SomeRoofs()).seconds, 5e-3);
  EXPECT_DOUBLE_EQ(LeastTime({.products = {{DType::kQ4_1, 80e6}}}, SomeRoofs()).seconds, 1e-3);
  EXPECT_DOUBLE_EQ(LeastTime({.products = {{DType::kF32, 80e6}}}, SomeRoofs()).seconds, 4e-3);
}

KernelReport Report() {
  KernelReport report;
  report.variant = "wide";
  report.threads = 2;
  report.model = "A model";
  report.roofs = SomeRoofs();
  const auto add = [&](KernelGroup group, const char* name, std::int32_t rows, KernelWork work,
                       double seconds) {
    report.kernels.push_back({group, name, rows, work, seconds, LeastTime(work, report.roofs)});
  };
  add(KernelGroup::kProducts, "ffn_down  Q4_1 576 x 1536", 1,
      {.memory_bytes = 500e3, .products = {{DType::kQ4_1, 1e6}}}, 62.5e-6);
  add(KernelGroup::kProducts, "ffn_down  Q4_1 576 x 1536", 256,
      {.memory_bytes = 500e3, .products = {{DType::kQ4_1, 256e6}}}, 4e-3);
  add(KernelGroup::kRows, "gate", 256, {.cache_bytes = 3e6}, 60e-6);
  return report;
}

TEST(KernelReport, IsATable) {
  EXPECT_EQ(KernelReportAsText(Report()),
            "threads     2, variant wide\n"
            "memory      10.0 GB/s\n"
            "cache       100 GB/s\n"
            "products    F32 20.0, Q4_1 80.0 G multiply-adds/s\n"
            "shapes      'A model'\n"
            "\n"
            "products, outputs x columns  rows        us    GB/s  GMAC/s   bound by  roof\n"
            "ffn_down  Q4_1 576 x 1536       1      62.5    8.00    16.0   memory     80%\n"
            "ffn_down  Q4_1 576 x 1536     256      4000    0.12    64.0   products   80%\n"
            "\n"
            "rows by themselves           rows        us    GB/s  GMAC/s   bound by  roof\n"
            "gate                          256      60.0    50.0       -   cache      50%\n");
}

TEST(KernelReport, IsAnObject) {
  const auto report = boost::json::parse(KernelReportAsJson(Report())).as_object();
  EXPECT_EQ(report.at("variant").as_string(), "wide");
  EXPECT_EQ(report.at("threads").as_int64(), 2);
  const auto& roofs = report.at("roofs").as_object();
  EXPECT_EQ(roofs.at("memory_bytes_per_second").as_double(), 10e9);
  EXPECT_EQ(roofs.at("multiply_adds_per_second").at("Q4_1").as_double(), 80e9);
  const auto& kernels = report.at("kernels").as_array();
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[1].at("group").as_string(), "product");
  EXPECT_EQ(kernels[1].at("rows").as_int64(), 256);
  EXPECT_EQ(kernels[1].at("bound").as_string(), "products");
  EXPECT_DOUBLE_EQ(kernels[1].at("of_roof").as_double(), 0.8);
}

TEST(KernelReport, OfRoofsAloneHasNoTable) {
  KernelReport report = Report();
  report.kernels.clear();
  EXPECT_THAT(KernelReportAsText(report), ::testing::EndsWith("multiply-adds/s\n"));
}

TEST(MeasureKernels, RefusesAVariantThatIsNotThere) {
  const auto report = MeasureKernels(SmolLm2Shape(), {.threads = 1, .variant = "abacus"});
  EXPECT_TRUE(absl::IsNotFound(report.status()));
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("'abacus'"));
}

TEST(ModelShape, WithoutAFileIsThatOfTheDefaultModel) {
  const char* model = std::getenv("BANYAN_MODEL");
  ASSERT_NE(model, nullptr) << "the path of SmolLM2-135M-Instruct.Q4_1.gguf";
  const auto read = ReadModelShape(model);
  ASSERT_TRUE(read.ok()) << read.status();
  const ModelShape expected = SmolLm2Shape();
  EXPECT_EQ(read->heads, expected.heads);
  EXPECT_EQ(read->kv_heads, expected.kv_heads);
  EXPECT_EQ(read->head_dim, expected.head_dim);
  EXPECT_EQ(read->embedding, expected.embedding);
  EXPECT_EQ(read->embedding_type, expected.embedding_type);
  EXPECT_EQ(read->vocabulary, expected.vocabulary);
  const auto products = [](const ModelShape& shape) {
    std::vector<std::string> lines;
    for (const ProductShape& product : shape.products) {
      std::string line = product.names + (product.kind == ProductKind::kGated ? ", gated" : "") +
                         (product.kind == ProductKind::kGreatest ? ", greatest" : "") +
                         (product.vocabulary ? ", vocabulary" : "") + ", times " +
                         std::to_string(product.times) + ", of " + std::to_string(product.cols);
      for (const MatrixShape& matrix : product.matrices) {
        line += ", " + std::string(kernels::ShapeOf(matrix.type).name) + " " +
                std::to_string(matrix.outputs);
      }
      lines.push_back(line);
    }
    return lines;
  };
  EXPECT_THAT(products(*read), ::testing::UnorderedElementsAreArray(products(expected)));
}

TEST(ModelShape, OfNoModelSaysWhy) { EXPECT_FALSE(ReadModelShape("/nowhere.gguf").ok()); }

}  // namespace
}  // namespace banyan::server
