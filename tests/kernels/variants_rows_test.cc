// Operations on rows give the bits of the portable ones with every set of instructions.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/variant_comparison.h"

namespace banyan::kernels::testing {
namespace {

// All that a block of quantized activations says, as floats.
void Append(const QuantBlock& block, Row& out) {
  out.insert(out.end(), block.q, block.q + kQuantBlock);
  out.insert(out.end(), {block.scale, block.sum});
  for (const auto& pair : block.centring) out.insert(out.end(), pair, pair + 2);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Variants, ::testing::ValuesIn(AllButPortable()),
                         [](const auto& named) { return std::string(named.param.name); });
// A processor may have no variant but the portable one.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Variants);

constexpr int kCols[] = {1, 2, 7, 8, 9, 31, 32, 33, 64, 96, 100, 576};

// Both forms of a row as `emit(out)` writes them, and what lies behind them, which must stay.
template <class F>
void AppendForms(std::int64_t cols, const F& emit, Row& results) {
  Row floats(static_cast<std::size_t>(cols) + 16, 42.0F);
  emit(RowOut{nullptr, floats.data()});
  results.insert(results.end(), floats.begin(), floats.end());
  if (cols % kQuantBlock != 0) return;
  for (float* second : {static_cast<float*>(nullptr), floats.data()}) {
    std::vector<QuantBlock> blocks(static_cast<std::size_t>(cols / kQuantBlock) + 1);
    std::fill(floats.begin(), floats.end(), 42.0F);
    emit(RowOut{blocks.data(), second});
    for (const QuantBlock& block : blocks) Append(block, results);
    results.insert(results.end(), floats.begin(), floats.end());
  }
}

TEST_P(Variants, QuantizeRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row x = source.Values(cols);
      AppendForms(
          cols, [&](const RowOut& out) { ops.quantize(x.data(), cols, out); }, results);
      return results;
    });
  }
}

TEST_P(Variants, ScoresOfBounds) {
  for (const int count : {1, 2, 3, 4, 5, 7, 8, 9}) {
    for (const int dims : {8, 24, 64, 128}) {
      SCOPED_TRACE(count * 1000 + dims);
      Compare([&](const Ops& ops, Source& source) {
        const Row above = source.Values(count * dims);
        const Row below = source.Values(count * dims);
        std::vector<std::uint16_t> bounds;
        for (int i = 0; i < 2 * dims; ++i)
          bounds.push_back(
              static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(source.Next()) >> 16));
        return Row{ops.score_bounds({above.data(), below.data(), count, dims}, bounds.data(),
                                    bounds.data() + dims)};
      });
    }
  }
}

TEST_P(Variants, ScoresOfTiles) {
  for (const int dims : {8, 24, 64, 128}) {
    SCOPED_TRACE(dims);
    Compare([&](const Ops& ops, Source& source) {
      const Row q = source.Values(dims);
      const Row tile = source.Values(dims * kTileKeys);
      const Row factors = source.Values(kTileKeys);
      Row scores(kTileKeys);
      ops.score_tile(q.data(), dims, tile.data(), factors.data(), scores.data());
      return scores;
    });
  }
}

TEST_P(Variants, ProbabilitiesOfSlots) {
  for (const std::int64_t slots : {1, 7, 8, 9, 16, 100, 257}) {
    for (const float scale : {1.0F, 100.0F}) {
      SCOPED_TRACE(slots);
      Compare([&](const Ops& ops, Source& source) {
        Row scores = source.Values((slots + 7) / 8 * 8);
        for (float& score : scores) score *= scale;
        Row probabilities = source.Values(std::ssize(scores));
        std::fill(probabilities.begin() + slots, probabilities.end(), 0.0F);
        ops.add_probabilities(scores.data(), slots, probabilities.data());
        return probabilities;
      });
    }
  }
}

TEST_P(Variants, WideningOfEveryNumber) {
  for (const KvFormat format : kHeadFormats) {
    const auto bytes = static_cast<std::size_t>(LayoutOf(format).bytes);
    std::vector<std::byte> numbers;
    for (std::uint32_t bits = 0; bits >> (8 * bytes) == 0; ++bits)
      for (std::size_t i = 0; i < bytes; ++i)
        numbers.push_back(static_cast<std::byte>(bits >> (8 * i)));
    SCOPED_TRACE(LayoutOf(format).name);
    CompareOnce(Numbers::kUsual, 1, [&](const Ops& ops, Source&) {
      Row out(numbers.size() / bytes);
      KvOpsOf(ops, format).widen(numbers.data(), std::ssize(out), out.data());
      return out;
    });
  }
}

TEST_P(Variants, QuantizeEveryStepAndHalfStep) {
  Compare([](const Ops& ops, Source& source) {
    Row results;
    for (int half = -254; half <= 254; ++half) {
      Row x = source.Values(kQuantBlock);
      x[0] = 127.0F;
      for (int i = 1; i < kQuantBlock; ++i) {
        x[i] = static_cast<float>(half) / 2.0F;
        if (i % 3 == 1) x[i] = std::nextafter(x[i], 200.0F);
        if (i % 3 == 2) x[i] = std::nextafter(x[i], -200.0F);
        x[i] = std::clamp(x[i], -127.0F, 127.0F);
      }
      AppendForms(
          kQuantBlock, [&](const RowOut& out) { ops.quantize(x.data(), kQuantBlock, out); },
          results);
    }
    return results;
  });
}

TEST_P(Variants, QuantizeAboutTheLeastBlockThatIsNotZero) {
  Compare([](const Ops& ops, Source&) {
    Row results;
    for (const float end : {std::nextafter(1e-30F, 0.0F), 1e-30F, std::nextafter(1e-30F, 1.0F)}) {
      const Row x(kQuantBlock, -end);
      AppendForms(
          kQuantBlock, [&](const RowOut& out) { ops.quantize(x.data(), kQuantBlock, out); },
          results);
    }
    return results;
  });
}

TEST_P(Variants, NormalizeRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row x = source.Values(cols);
      const Row weight = source.Values(cols);
      for (const float eps : {0.0F, 1e-5F})
        AppendForms(
            cols, [&](const RowOut& out) { ops.rms_norm(x.data(), weight.data(), eps, cols, out); },
            results);
      Row sum = source.Values(cols);
      ops.rms_norm_add(x.data(), weight.data(), 1e-6F, cols, sum.data());
      results.insert(results.end(), sum.begin(), sum.end());
      ops.add(x.data(), cols, sum.data());
      results.insert(results.end(), sum.begin(), sum.end());
      ops.rms_norm(sum.data(), weight.data(), 1e-5F, cols, {nullptr, sum.data()});  // in place
      results.insert(results.end(), sum.begin(), sum.end());
      return results;
    });
  }
}

TEST_P(Variants, GateRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row gate = source.Values(cols);
      const Row up = source.Values(cols);
      for (const Ops::Gate function : {ops.gate_silu, ops.gate_gelu_tanh})
        AppendForms(
            cols, [&](const RowOut& out) { function(gate.data(), up.data(), cols, out); }, results);
      return results;
    });
  }
}

// exp, seen through silu: every argument that is a multiple of 1/64, and all around the ends of its
// range.
TEST_P(Variants, GateTheWholeRangeOfExp) {
  Row gate;
  for (float g = -100.0F; g <= 100.0F; g += 0x1p-6F) gate.push_back(g);
  for (const float end : {87.336544F, 88.376262F, 88.02969F}) {
    for (const float sign : {-1.0F, 1.0F}) {
      float g = sign * end;
      for (int i = 0; i < 64; ++i) g = std::nextafter(g, -1000.0F);
      for (int i = 0; i < 128; ++i, g = std::nextafter(g, 1000.0F)) gate.push_back(g);
    }
  }
  const auto cols = std::ssize(gate);
  const Row up(gate.size(), 1.0F);
  Compare([&](const Ops& ops, Source&) {
    Row results(gate.size());
    ops.gate_silu(gate.data(), up.data(), cols, {nullptr, results.data()});
    return results;
  });
}

TEST_P(Variants, Rotate) {
  for (const int dims : {2, 4, 8, 14, 16, 18, 34, 64, 126, 128}) {
    SCOPED_TRACE(dims);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row cos = source.Values((dims + 7) / 8 * 8);
      const Row sin = source.Values((dims + 7) / 8 * 8);
      for (const Ops::Rotate rotate : {ops.rotate_neighbours, ops.rotate_halves}) {
        Row x = source.Values(dims + 3);
        rotate(x.data(), cos.data(), sin.data(), dims);
        results.insert(results.end(), x.begin(), x.end());
      }
      return results;
    });
  }
}

// What a function stores of a row, `head` numbers at a time: their bits as values, those of a NaN
// as one that all NaNs are.
Row StoredBits(const Ops& ops, KvFormat format, const Row& x, std::size_t head) {
  const auto size = static_cast<std::size_t>(LayoutOf(format).bytes);
  std::vector<std::byte> bytes(head * size);
  Row results;
  for (std::size_t at = 0; at + head <= x.size(); at += head) {
    std::uint16_t scale = 0;
    KvOpsOf(ops, format)
        .store(x.data() + at, static_cast<std::int64_t>(head), bytes.data(), &scale);
    results.push_back(scale);
    for (std::size_t i = 0; i < head; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * size, size);
      const int infinity = format == KvFormat::kF16 ? 0x7c00 : 0x7f80;
      const bool is_nan = size == 2 && (bits & 0x7fff) > infinity;
      results.push_back(is_nan ? 70000.0F : static_cast<float>(bits));
    }
  }
  return results;
}

TEST_P(Variants, StoreNumbers) {
  for (const KvFormat format : kHeadFormats) {
    SCOPED_TRACE(LayoutOf(format).name);
    Compare([&](const Ops& ops, Source& source) {
      Row x;
      // Heads with and without infinities and NaN, of any magnitude.
      for (int i = 0; i < 4096; ++i) x.push_back(std::bit_cast<float>(source.Bits()));
      for (int i = 0; i < 4096; ++i) x.push_back(source.Next());
      for (int head = 0; head < 256; ++head) {
        const int exponent = static_cast<int>(source.Bits() % 64) - 40;
        for (int i = 0; i < 24; ++i) x.push_back(std::ldexp(source.Next(), exponent));
      }
      Row results = StoredBits(ops, format, x, 8);
      const Row wide = StoredBits(ops, format, x, 72);
      results.insert(results.end(), wide.begin(), wide.end());
      return results;
    });
  }
}

// Every number of a format with what lies a little beside it and between it and the next.
TEST_P(Variants, StoreWhatIsBetweenNumbers) {
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8}) {
    SCOPED_TRACE(LayoutOf(format).name);
    const std::uint32_t count = LayoutOf(format).bytes == 1 ? 0x100 : 0x10000;
    const std::uint32_t step = count >> 13 | 1;
    Compare([&](const Ops& ops, Source& source) {
      const auto value = [&](std::uint32_t bits) {
        return Decoded(format, reinterpret_cast<const std::byte*>(&bits));
      };
      Row x;
      for (std::uint32_t bits = 0; bits < count; bits += step) {
        const std::uint32_t any = bits + source.Bits() % step;
        const float middle = (value(any) + value(any + 1)) / 2;
        for (const float v : {value(any), middle}) {
          x.push_back(v);
          x.push_back(std::nextafter(v, 1e9F));
          x.push_back(std::nextafter(v, -1e9F));
        }
        x.insert(x.end(), 2, middle);
      }
      return StoredBits(ops, format, x, 8);
    });
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
