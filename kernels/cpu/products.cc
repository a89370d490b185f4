// Products of weights and activations: who computes which outputs, and what becomes of them.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/backend_state.h"
#include "kernels/cpu/pack.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Results of a product that a thread keeps until they are used: what stays in a first-level cache.
constexpr std::int64_t kKeptValues = 2048;

}  // namespace

MatMulWork CpuBackend::State::WorkOf(const Linear& linear, const Input& in,
                                     std::int32_t rows) const {
  const Matrix& w = *linear.weights;
  Require(rows <= in.max_rows(), "MatMul: too many rows");
  Require(in.cols() == w.cols(), "MatMul: shapes differ");
  Require(linear.bias == nullptr || linear.bias->size() == w.rows(), "MatMul: shapes differ");
  const std::int64_t block = ShapeOf(w.type()).block;
  Require(block != 1 || in.has_floats_, "MatMul: the input was written before floats were needed");
  return {
      .tiles = w.tiles_,
      .depth = w.cols() / block,
      .quants = in.blocks_.as<QuantBlock>(),
      .quant_stride = in.cols() / kQuantBlock,
      .floats = in.floats_.as<float>(),
      .float_stride = in.stride_,
      .rows = rows,
      .out = nullptr,
      .out_stride = 0,
      .store = Store::kSet,
  };
}

void CpuBackend::State::Multiply(const Linear& linear, MatMulWork work, std::int64_t first,
                                 std::int64_t last) const {
  const Matrix& w = *linear.weights;
  work.tiles += first * TileBytes(w.type(), w.cols());
  MatMulOf(ops, w.type())(work, 0, last - first);
  if (linear.bias == nullptr) return;
  const std::int64_t output = first * kTileRows;
  const std::int64_t outputs = std::min(last * kTileRows, w.rows()) - output;
  for (std::int64_t i = 0; i < work.rows; ++i)
    ops.add(linear.bias->values_ + output, outputs, work.out + i * work.out_stride);
}

void CpuBackend::State::MatMul(std::span<const Product> products, const Input& in,
                               std::int32_t rows, Store store) {
  for (const Product& product : products) {
    Require(rows <= product.out->max_rows(), "MatMul: too many rows");
    Require(product.out->cols() == product.linear.weights->rows(), "MatMul: shapes differ");
  }
  const auto multiply = [&](const Product& product, std::int64_t first, std::int64_t last) {
    MatMulWork work = WorkOf(product.linear, in, rows);
    work.out = product.out->row(0) + first * kTileRows;
    work.out_stride = product.out->stride_;
    work.store = store;
    Multiply(product.linear, work, first, last);
  };
  const auto tiles = [](const Product& product) {
    return TileCount(product.linear.weights->rows());
  };
  if (products.size() == 1) {
    const Product& product = products[0];
    const Matrix& w = *product.linear.weights;
    ForWeights(tiles(product), TileBytes(w.type(), w.cols()),
               [&](std::int32_t, std::int64_t first, std::int64_t last) {
                 multiply(product, first, last);
               });
    return;
  }
  pool.Run([&](std::int32_t thread) {
    for (const Product& product : products) {
      const Share share = ShareOf(tiles(product), thread, pool.threads());
      if (share.begin < share.end) multiply(product, share.begin, share.end);
    }
  });
}

void CpuBackend::MatMul(const Linear& linear, const Input& in, std::int32_t rows,
                        Activations& out) {
  const Product product = {linear, &out};
  state_->MatMul({&product, 1}, in, rows, Store::kSet);
}

void CpuBackend::MatMulAdd(const Linear& linear, const Input& in, std::int32_t rows,
                           Activations& out) {
  const Product product = {linear, &out};
  state_->MatMul({&product, 1}, in, rows, Store::kAdd);
}

void CpuBackend::MatMulEach(std::span<const Product> products, const Input& in, std::int32_t rows) {
  state_->MatMul(products, in, rows, Store::kSet);
}

// A thread takes some outputs of both matrices at a time, for all rows, and gates them while they
// are in its cache: whole blocks of the result, which are quantized by themselves.
void CpuBackend::MatMulGate(GateFunction function, const Linear& gate, const Linear& up,
                            const Input& in, std::int32_t rows, Input& out) {
  State& state = *state_;
  Require(rows <= out.max_rows(), "MatMulGate: too many rows");
  Require(gate.weights->rows() == out.cols() && up.weights->rows() == out.cols(),
          "MatMulGate: shapes differ");
  state.Begin(out);
  const MatMulWork gate_work = state.WorkOf(gate, in, rows);
  const MatMulWork up_work = state.WorkOf(up, in, rows);
  const auto op = function == GateFunction::kSilu ? state.ops.gate_silu : state.ops.gate_gelu_tanh;

  constexpr std::int64_t kBlockTiles = kQuantBlock / kTileRows;
  const std::int64_t tiles = TileCount(out.cols());
  const std::int64_t blocks = (tiles + kBlockTiles - 1) / kBlockTiles;
  const std::int64_t group = std::max<std::int64_t>(1, kKeptValues / (rows * kQuantBlock));
  const std::int64_t values = rows * group * kQuantBlock;  // of one matrix
  const std::int32_t threads = state.pool.threads();
  GrowFloats(state.kept, 2 * values * threads);
  const Matrix& w = *gate.weights;
  const std::int64_t block_bytes = 2 * kBlockTiles * TileBytes(w.type(), w.cols());
  const auto multiply_and_gate = [&](std::int32_t thread, std::int64_t begin, std::int64_t end) {
    float* const gates = state.kept.as<float>() + 2 * values * thread;
    float* const ups = gates + values;
    for (std::int64_t first = begin; first < end; first += group) {
      const std::int64_t last = std::min(first + group, end);
      const std::int64_t stride = (last - first) * kQuantBlock;
      const auto multiply = [&](const Linear& linear, MatMulWork work, float* results) {
        work.out = results;
        work.out_stride = stride;
        state.Multiply(linear, work, first * kBlockTiles, std::min(last * kBlockTiles, tiles));
      };
      multiply(gate, gate_work, gates);
      multiply(up, up_work, ups);
      const std::int64_t column = first * kQuantBlock;
      const std::int64_t cols = std::min(stride, out.cols() - column);
      for (std::int64_t i = 0; i < rows; ++i) {
        RowOut row = state.OutOf(out, i);
        if (row.blocks != nullptr) row.blocks += first;
        if (row.floats != nullptr) row.floats += column;
        op(gates + i * stride, ups + i * stride, cols, row);
      }
    }
  };
  state.ForWeights(blocks, block_bytes, multiply_and_gate);
}

// A thread looks at some outputs for all rows while they are in its cache.
void CpuBackend::MatMulGreatest(const Linear& linear, const Input& in,
                                std::span<std::int32_t> out) {
  State& state = *state_;
  const auto rows = static_cast<std::int32_t>(out.size());
  if (rows == 0) return;
  const MatMulWork all = state.WorkOf(linear, in, rows);
  const std::int64_t outputs = linear.weights->rows();
  const std::int64_t group = std::max<std::int64_t>(1, kKeptValues / (rows * kTileRows));  // tiles
  const std::int64_t stride = group * kTileRows;
  const std::int32_t threads = state.pool.threads();
  GrowFloats(state.kept, rows * stride * threads);
  state.greatest.assign(static_cast<std::size_t>(threads) * out.size(), Greatest());
  const auto look = [&](std::int32_t thread, std::int64_t begin, std::int64_t end) {
    MatMulWork work = all;
    work.out = state.kept.as<float>() + rows * stride * thread;
    work.out_stride = stride;
    Greatest* const greatest = &state.greatest[static_cast<std::size_t>(thread) * out.size()];
    for (std::int64_t first = begin; first < end; first += group) {
      const std::int64_t last = std::min(first + group, end);
      state.Multiply(linear, work, first, last);
      const std::int64_t output = first * kTileRows;
      const std::int64_t count = std::min(last * kTileRows, outputs) - output;
      for (std::int32_t i = 0; i < rows; ++i)
        greatest[i].Look({work.out + i * stride, static_cast<std::size_t>(count)},
                         static_cast<std::int32_t>(output));
    }
  };
  const Matrix& w = *linear.weights;
  state.ForWeights(TileCount(outputs), TileBytes(w.type(), w.cols()), look);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Greatest best;
    for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
      best.Take(state.greatest[t * out.size() + i]);
    out[i] = best.at();
  }
}

}  // namespace banyan::kernels
