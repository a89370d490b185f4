// As model_test.cc, with models of the sizes that are served: too much for host execution.

#include "gtest/gtest.h"
#include "tests/cuda/model_rig.h"

namespace banyan::model::testing {
namespace {

constexpr double kBound = 0.5;  // of a logit; they deviate by 1, and layers are many

TEST(FullSize, SmolLm2_135M) {
  ExpectNearTheCpu({.layers = 30,
                    .heads = 9,
                    .kv_heads = 3,
                    .head_dim = 64,
                    .embedding = 576,
                    .feed_forward = 1536,
                    .vocabulary = 49152,
                    .rope_dims = 64,
                    .tied_head = true},
                   kernels::KvFormat::kF16, kBound, 1);
}

TEST(FullSize, Gemma3_270M) {
  ExpectNearTheCpu({.family = "gemma3",
                    .layers = 18,
                    .heads = 4,
                    .kv_heads = 1,
                    .head_dim = 256,
                    .embedding = 640,
                    .feed_forward = 2048,
                    .vocabulary = 262144,
                    .rope_dims = 256,
                    .rope_base = 1000000,
                    .tied_head = true,
                    .window = 512},
                   kernels::KvFormat::kF16, kBound, 1);
}

}  // namespace
}  // namespace banyan::model::testing
