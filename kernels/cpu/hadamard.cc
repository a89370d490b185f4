#include "kernels/cpu/hadamard.h"

#include <cmath>
#include <cstring>

namespace banyan::kernels {
namespace {

using Four = float __attribute__((vector_size(16)));

Four Load(const float* x) {
  Four four;
  std::memcpy(&four, x, sizeof(four));
  return four;
}

void Store(float* x, Four four) { std::memcpy(x, &four, sizeof(four)); }

// Numbers that are 1 and 2 apart.
Four WithinFour(Four x) {
  x = __builtin_shufflevector(x, x, 1, 0, 3, 2) + x * Four{1, -1, 1, -1};
  return __builtin_shufflevector(x, x, 2, 3, 0, 1) + x * Four{1, 1, -1, -1};
}

}  // namespace

void Hadamard(float* x, std::int64_t n) {
  const std::int64_t block = n & -n;
  const float scale = 1.0F / std::sqrt(static_cast<float>(block));
  for (float* const end = x + n; x < end; x += block) {
    for (std::int64_t apart = block / 2; apart >= 4; apart /= 2) {
      for (std::int64_t pair = 0; pair < block; pair += 2 * apart) {
        for (std::int64_t i = pair; i < pair + apart; i += 4) {
          const Four a = Load(x + i);
          const Four b = Load(x + i + apart);
          Store(x + i, a + b);
          Store(x + i + apart, a - b);
        }
      }
    }
    for (std::int64_t i = 0; i < block; i += 4) Store(x + i, WithinFour(Load(x + i)) * scale);
  }
}

}  // namespace banyan::kernels
