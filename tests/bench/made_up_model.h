// A model of any size with weights that mean nothing, without a file: its matrices are all views of
// the same random numbers, in bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "model/model.h"

namespace banyan::bench {

struct MadeUpShape {
  std::string name;
  std::int32_t layers = 0;
  std::int32_t embedding = 0;
  std::int32_t feed_forward = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t vocabulary = 0;
  bool tied_head = false;
  std::int64_t most_tokens = std::int64_t{1} << 20;  // that are measured, of all sequences
};

inline const MadeUpShape kMadeUpShapes[] = {
    {"tiny", 2, 64, 96, 4, 2, 16, 128, true, 256},
    {"smollm2-135m", 30, 576, 1536, 9, 3, 64, 49152, true},
    {"llama3-8b", 32, 4096, 14336, 32, 8, 128, 128256, false},
};

// Of the llama family.
std::unique_ptr<model::File> MakeUp(const MadeUpShape& shape);

}  // namespace banyan::bench
