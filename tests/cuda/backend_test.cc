// The CUDA backend beside the CPU's: one layer's operations, the same weights and pages. What
// differs is that products read numbers of 16 bits.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/backend.h"
#include "kernels/cuda/backend.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr std::int32_t kCols = 64;  // 4 heads of 16
constexpr std::int32_t kKvCols = 32;
constexpr std::int32_t kRows = 7;
constexpr std::int32_t kVocabulary = 96;
constexpr float kEps = 1e-5F;

std::unique_ptr<CudaBackend> MakeCuda() {
  std::string why;
  std::unique_ptr<CudaBackend> backend =
      CudaBackend::Create({.numbers = cuda::NumberType::kF16}, &why);
  EXPECT_NE(backend, nullptr) << why;
  return backend;
}

HostTensor TensorOf(const Row& values, std::int64_t rows) {
  return {DType::kF32, rows, static_cast<std::int64_t>(values.size()) / rows,
          reinterpret_cast<const std::byte*>(values.data())};
}

struct Outcome {
  Rows hidden;
  std::vector<std::int32_t> tokens;
};

// Two steps of one sequence, of five tokens and of two, through one layer.
template <class B>
class Layer {
 public:
  explicit Layer(B& backend)
      : backend_(backend),
        embedding_(Weights(kVocabulary, kCols, 1)),
        query_(Weights(kCols, kCols, 2)),
        key_(Weights(kKvCols, kCols, 3)),
        value_(Weights(kKvCols, kCols, 4)),
        output_(Weights(kCols, kCols, 5)),
        gate_(Weights(2 * kCols, kCols, 6)),
        up_(Weights(2 * kCols, kCols, 7)),
        down_(Weights(kCols, 2 * kCols, 8)),
        norm_(backend.PackVector(TensorOf(Row(kCols, 1.5F), 1))),
        bias_(backend.PackVector(TensorOf(RandomRows(1, kCols, 9)[0], 1))),
        x_(backend.MakeActivations(kRows, kCols)),
        q_(backend.MakeActivations(kRows, kCols)),
        k_(backend.MakeActivations(kRows, kKvCols)),
        v_(backend.MakeActivations(kRows, kKvCols)),
        logits_(backend.MakeActivations(kRows, kVocabulary)),
        in_(backend.MakeInput(kRows, kCols)),
        wide_(backend.MakeInput(kRows, 2 * kCols)) {
    EXPECT_TRUE(backend.AllocatePages({1, 2, 16, 4, 3, KvFormat::kF16}));
  }

  Outcome Run() {
    Outcome out;
    Step({5, 17, 95, 0, 5}, 0, &out);
    Step({40, 41}, 5, &out);
    return out;
  }

 private:
  typename B::Matrix Weights(std::int32_t rows, std::int32_t cols, std::uint32_t seed) {
    const Row values = RandomRows(1, rows * cols, seed, 0.2F)[0];
    return backend_.PackMatrix(TensorOf(values, rows));
  }

  void Step(const std::vector<std::int32_t>& ids, std::int64_t position, Outcome* out) {
    const auto rows = static_cast<std::int32_t>(ids.size());
    const std::int32_t pages[] = {2, 0, 1};
    const RowRun run[] = {
        {.first_row = 0, .rows = rows, .first_position = position, .pages = pages}};
    const Rope rope{.dims = 16, .base = 100.0F, .pairs = RopePairs::kHalves};
    backend_.Embed(embedding_, ids, 2.0F, x_);
    backend_.RmsNorm(x_, norm_, kEps, rows, in_);
    const typename B::Product products[] = {
        {{query_, &bias_}, &q_}, {{key_}, &k_}, {{value_}, &v_}};
    backend_.MatMulEach(products, in_, rows);
    backend_.RopeAndStore(q_, k_, v_, rope, run, 0);
    backend_.Attend(q_, {.scale = 0.25F}, run, 0, in_);
    backend_.MatMulAdd({output_, &bias_}, in_, rows, x_);
    backend_.RmsNorm(x_, norm_, kEps, rows, in_);
    backend_.MatMulGate(GateFunction::kSilu, {gate_}, {up_}, in_, rows, wide_);
    backend_.MatMulAdd({down_}, wide_, rows, x_);
    for (std::int32_t row = 0; row < rows; ++row) {
      out->hidden.emplace_back(kCols);
      backend_.ReadRow(x_, row, out->hidden.back());
    }
    const std::int32_t last[] = {rows - 1};
    backend_.RmsNormRows(x_, norm_, kEps, last, in_);
    backend_.MatMul({embedding_}, in_, 1, logits_);
    Row logits(kVocabulary);
    backend_.ReadRow(logits_, 0, logits);
    out->tokens.push_back(
        static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
  }

  B& backend_;
  typename B::Matrix embedding_, query_, key_, value_, output_, gate_, up_, down_;
  typename B::Vector norm_, bias_;
  typename B::Activations x_, q_, k_, v_, logits_;
  typename B::Input in_, wide_;
};

TEST(CudaBackend, GivesWhatTheCpuBackendGivesButForRounding) {
  const std::unique_ptr<CpuBackend> cpu = CpuBackend::Create(1);
  const std::unique_ptr<CudaBackend> device = MakeCuda();
  ASSERT_NE(device, nullptr);
  const Outcome expected = Layer(*cpu).Run();
  const Outcome got = Layer(*device).Run();
  ASSERT_EQ(got.hidden.size(), expected.hidden.size());
  double greatest = 0;
  for (const Row& row : expected.hidden)
    for (const float x : row) greatest = std::max(greatest, std::fabs(static_cast<double>(x)));
  for (std::size_t row = 0; row < got.hidden.size(); ++row)
    for (std::int32_t i = 0; i < kCols; ++i)
      EXPECT_NEAR(got.hidden[row][i], expected.hidden[row][i], 4e-3 * greatest) << row << ", " << i;
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(cuda::FirstError(), "");
}

TEST(CudaBackend, PagesAreReadAndWrittenAndCopied) {
  const std::unique_ptr<CudaBackend> device = MakeCuda();
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(device->AllocatePages({2, 1, 8, 4, 3, KvFormat::kInt8}));
  std::vector<std::byte> page(device->page_bytes());
  for (std::size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(i);
  device->WritePage(1, page);
  device->WritePage(2, std::vector<std::byte>(page.size()));
  const SlotCopy all[] = {{1, 2, 4}};
  device->CopySlots(all);
  std::vector<std::byte> read(page.size());
  device->ReadPage(1, read);
  EXPECT_EQ(read, page);
  device->ReadPage(2, read);
  EXPECT_EQ(read, page);  // this shape has no padding
}

TEST(CudaBackend, ADeviceThatIsNotThereIsSaidInOneLine) {
  std::string why;
  EXPECT_EQ(CudaBackend::Create({.device = 99}, &why), nullptr);
  EXPECT_THAT(why, ::testing::HasSubstr("no device 99"));
  EXPECT_THAT(why, ::testing::Not(::testing::HasSubstr("\n")));
}

}  // namespace
}  // namespace banyan::kernels::testing
