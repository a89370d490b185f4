// Blocks of memory of few sizes, beside what was written into them.
#include "radix/blocks.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace banyan::radix {
namespace {

TEST(Blocks, OfTheSameSizeAreUsedAgain) {
  Blocks blocks;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{16}, std::size_t{17},
                                  Blocks::kMaxBytes - 1, Blocks::kMaxBytes}) {
    void* const first = blocks.Allocate(bytes);
    void* const second = blocks.Allocate(bytes);
    EXPECT_NE(first, second);
    blocks.Free(first, bytes);
    EXPECT_EQ(blocks.Allocate(bytes), first);
  }
}

TEST(Blocks, LargerOnesAreGivenBack) {
  Blocks blocks;
  void* const block = blocks.Allocate(Blocks::kMaxBytes + 1);
  std::memset(block, 1, Blocks::kMaxBytes + 1);
  blocks.Free(block, Blocks::kMaxBytes + 1);  // the leak checker would miss it
}

TEST(Blocks, FillSlabsToTheLastByte) {
  Blocks blocks;
  constexpr std::size_t kBytes = 2048;
  const auto next = [&] { return reinterpret_cast<std::uintptr_t>(blocks.Allocate(kBytes)); };
  for (std::size_t i = 0; i < kFirstSlabBytes / kBytes; ++i) (void)next();
  for (int slab = 0; slab < 2; ++slab) {
    std::set<std::uintptr_t> blocks_of_slab;
    for (std::size_t i = 0; i < kSlabBytes / kBytes; ++i) blocks_of_slab.insert(next());
    EXPECT_EQ(*blocks_of_slab.rbegin() - *blocks_of_slab.begin(), kSlabBytes - kBytes);
  }
}

TEST(Blocks, NoneLiesInAnother) {
  struct Written {
    std::uint8_t* block;
    std::size_t bytes;
    std::uint8_t value;
  };
  std::mt19937 random(5);
  Blocks blocks;
  std::vector<Written> all;
  for (int step = 0; step < 20000; ++step) {
    if (all.empty() || random() % 3 > 0) {
      const std::size_t bytes = 1 + random() % (Blocks::kMaxBytes + 200);
      const auto value = static_cast<std::uint8_t>(random());
      auto* const block = static_cast<std::uint8_t*>(blocks.Allocate(bytes));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0);
      std::memset(block, value, bytes);
      all.push_back({block, bytes, value});
    } else {
      std::swap(all[random() % all.size()], all.back());
      const Written& last = all.back();
      for (std::size_t i = 0; i < last.bytes; ++i) ASSERT_EQ(last.block[i], last.value);
      blocks.Free(last.block, last.bytes);
      all.pop_back();
    }
  }
  for (const Written& one : all) blocks.Free(one.block, one.bytes);
}

}  // namespace
}  // namespace banyan::radix
