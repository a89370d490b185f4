// The arithmetic of `banyan plan`, at the published sizes of known models.
#include "server/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/limits.h"
#include "kernels/kv_shape.h"
#include "tests/server/plan_configs.h"

namespace banyan::server {
namespace {

using kernels::KvFormat;
using ::testing::HasSubstr;

Plan Planned(const Subject& subject, const Workload& workload) {
  absl::StatusOr<Plan> plan = MakePlan(subject, workload);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// 1 layer, 1 KV head of 8: 32 bytes a token in f16.
Subject Small() {
  Subject subject;
  subject.shape = {.layers = 1, .kv_heads = 1, .head_dim = 8, .latent = {}, .windows = {}};
  return subject;
}
constexpr std::int64_t kSmallToken = 32;

const FormatPlan& F16(const Plan& plan) {
  EXPECT_EQ(plan.formats.front().format, KvFormat::kF16);
  return plan.formats.front();
}

struct Known {
  const char* model;
  std::int64_t bytes_per_token;  // f16
  std::int64_t multi_head;       // f16, had each query head keys and values
  const char* attention;
  std::int64_t windowed_layers;
  std::int64_t window;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.model; }

class KnownModels : public ::testing::TestWithParam<Known> {};

TEST_P(KnownModels, TakeAsManyBytesATokenAsIsKnown) {
  const Known& known = GetParam();
  const Subject subject = KnownModelSubject(known.model);
  const FormatPlan plan = F16(Planned(subject, {}));
  EXPECT_EQ(plan.bytes_per_token, known.bytes_per_token);
  EXPECT_EQ(plan.multi_head_bytes_per_token, known.multi_head);
  EXPECT_EQ(AttentionOf(subject), known.attention);
  EXPECT_EQ(subject.shape.windowed_layers(), known.windowed_layers);
  for (const std::int64_t window : subject.shape.windows)
    EXPECT_TRUE(window == 0 || window == known.window) << window;
}

INSTANTIATE_TEST_SUITE_P(Published, KnownModels,
                         ::testing::Values(Known{"llama-2-7b", 524'288, 524'288, "MHA", 0, 0},
                                           Known{"llama-2-13b", 819'200, 819'200, "MHA", 0, 0},
                                           Known{"llama-2-70b", 327'680, 2'621'440, "GQA", 0, 0},
                                           Known{"llama-3-8b", 131'072, 524'288, "GQA", 0, 0},
                                           Known{"llama-3-70b", 327'680, 2'621'440, "GQA", 0, 0},
                                           Known{"llama-3.1-405b", 516'096, 8'257'536, "GQA", 0, 0},
                                           Known{"mistral-7b", 131'072, 524'288, "GQA", 32, 4096},
                                           Known{"qwen2.5-7b", 57'344, 401'408, "GQA", 0, 0},
                                           Known{"gemma-3-1b", 26'624, 106'496, "MQA", 22, 512},
                                           Known{"gemma-3-27b", 507'904, 1'015'808, "GQA", 52,
                                                 1024},
                                           Known{"deepseek-v3", 70'272, 4'997'120, "MLA", 0, 0}),
                         [](const auto& tested) {
                           std::string name;
                           for (const char c : std::string(tested.param.model))
                             name += c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

TEST(Plan, HasEveryFormatOfThePages) {
  const Plan plan = Planned(KnownModelSubject("llama-3-8b"), {.context = 100});
  ASSERT_EQ(plan.formats.size(), kernels::kKvFormats.size());
  for (std::size_t i = 0; i < plan.formats.size(); ++i) {
    const FormatPlan& format = plan.formats[i];
    EXPECT_EQ(format.format, kernels::kKvFormats[i]);
    EXPECT_EQ(kernels::FindKvFormat(format.name), format.format);
    kernels::KvShape shape;
    shape.layers = 32;
    shape.kv_heads = 8;
    shape.head_dim = 128;
    shape.page_size = 16;
    shape.format = format.format;
    EXPECT_EQ(format.bytes_per_token, kernels::BytesPerToken(shape));
    EXPECT_EQ(format.page_bytes, 16 * format.bytes_per_token);
    EXPECT_EQ(format.allocated_bytes, 7 * format.page_bytes);
    EXPECT_EQ(format.formula_bytes, 100 * format.bytes_per_token);
  }
}

// Pages of groups of 32 dimensions and tiles of 16 tokens.
TEST(Plan, LeavesOutFormatsThatTheShapeDoesNotHave) {
  const auto has = [](const CacheShape& shape, std::int64_t page_size) {
    Subject subject;
    subject.shape = shape;
    const Plan plan = Planned(subject, {.page_size = page_size});
    EXPECT_GE(plan.formats.size(), kernels::kKvFormats.size() - 1);
    return plan.formats.back().format == KvFormat::kInt4;
  };
  const CacheShape shape = {.layers = 2, .kv_heads = 2, .head_dim = 96};
  EXPECT_TRUE(has(shape, 16));
  EXPECT_TRUE(has(shape, 1024));
  EXPECT_FALSE(has(shape, 24));
  EXPECT_FALSE(has({.layers = 2, .kv_heads = 2, .head_dim = 80}, 16));
}

TEST(Plan, OpenPagesAreOfThePoolsMemory) {
  Subject subject;
  subject.shape = {.layers = 30, .kv_heads = 3, .head_dim = 64};
  constexpr std::int64_t kOpen = std::int64_t{8} * 16 * 23'040;
  constexpr std::int64_t kPage = 16 * 7200;
  const auto planned = [&](std::int64_t kv_memory) {
    const Plan plan =
        Planned(subject, {.context = 100, .sessions = 3, .max_running = 8, .kv_memory = kv_memory});
    EXPECT_EQ(F16(plan).open_bytes, 0);
    return plan.formats.back();
  };
  EXPECT_EQ(planned(kOpen).open_bytes, kOpen);
  EXPECT_EQ(planned(kOpen).page_bytes, kPage);
  EXPECT_EQ(planned(kOpen + kPage - 1).capacity->pages, 0) << "the server refuses to start";
  EXPECT_EQ(planned(kOpen + kPage).capacity->pages, 1);
  EXPECT_EQ(planned(kOpen + 9 * kPage - 1).capacity->pages, 8);
}

// A latent and its rotated key have a scale each where numbers have scales.
TEST(Plan, ALatentIsTwoVectorsALayer) {
  const Plan plan = Planned(KnownModelSubject("deepseek-v3"), {});
  for (const FormatPlan& format : plan.formats) {
    if (format.format == KvFormat::kInt8) {
      EXPECT_EQ(format.bytes_per_token, 61 * (512 + 64 + 2 * 2));
    }
    if (format.format == KvFormat::kFp8) {
      EXPECT_EQ(format.bytes_per_token, 61 * (512 + 64));
    }
  }
}

TEST(Plan, WholePagesAreAllocated) {
  const std::map<std::int64_t, std::int64_t> pages = {{1, 1},  {15, 1}, {16, 1},
                                                      {17, 2}, {32, 2}, {33, 3}};
  for (const auto& [context, count] : pages) {
    const Plan plan = Planned(Small(), {.page_size = 16, .context = context});
    EXPECT_EQ(plan.pages.all, count) << context;
    EXPECT_EQ(F16(plan).allocated_bytes, count * 16 * kSmallToken);
    EXPECT_EQ(F16(plan).formula_bytes, context * kSmallToken);
  }
  EXPECT_EQ(Planned(Small(), {.page_size = 1, .context = 17}).pages.all, 17);
  EXPECT_EQ(Planned(Small(), {.page_size = kMaxPageSize, .context = kMaxPageSize + 1}).pages.all,
            2);
}

TEST(Plan, TheFormulaCountsWindowsWhereTheServerKeepsAll) {
  const Subject gemma = KnownModelSubject("gemma-3-1b");
  constexpr std::int64_t kLayer = 26'624 / 26;
  const auto bytes = [&](std::int64_t context) {
    return F16(Planned(gemma, {.context = context})).formula_bytes;
  };
  EXPECT_EQ(bytes(511), 511 * 26'624);
  EXPECT_EQ(bytes(512), 512 * 26'624);
  EXPECT_EQ(bytes(513), (512 * 22 + 513 * 4) * kLayer);
  EXPECT_EQ(bytes(32'768), (512 * 22 + 32'768 * 4) * kLayer);
  EXPECT_EQ(F16(Planned(gemma, {.context = 32'768})).allocated_bytes, 32'768 * 26'624);
}

TEST(Plan, WholePagesOfThePrefixAreThereOnce) {
  const auto pages = [](std::int64_t context, std::int64_t shared) {
    return Planned(Small(), {.context = context, .shared_prefix = shared}).pages;
  };
  EXPECT_EQ(pages(64, 15).shared, 0);
  EXPECT_EQ(pages(64, 16).shared, 1);
  EXPECT_EQ(pages(64, 31).shared, 1);
  EXPECT_EQ(pages(64, 32).own, 2);
  EXPECT_EQ(pages(64, 63).own, 1) << "the page in which prompts begin to differ is each one's";
  EXPECT_EQ(pages(65, 64).own, 1);
}

TEST(Plan, APoolHoldsAllSessions) {
  const Plan plan = Planned(Small(), {.context = 100, .sessions = 10, .shared_prefix = 40});
  ASSERT_TRUE(plan.apart.has_value() && plan.sharing.has_value());
  EXPECT_EQ(plan.apart->sessions, 10 * 7);
  EXPECT_EQ(plan.sharing->sessions, 2 + 10 * 5);
  EXPECT_FALSE(Planned(Small(), {.context = 100}).apart.has_value());
}

// What the scheduler wants to be free before it admits a request beside others.
TEST(Plan, APoolHasTheSchedulersHeadroom) {
  const auto headroom = [](std::int64_t context, std::int64_t sessions, std::int64_t limit) {
    Subject subject = Small();
    subject.context_length = limit;
    return Planned(subject, {.context = context, .sessions = sessions}).apart->headroom;
  };
  EXPECT_EQ(headroom(96, 10, 0), 10 * 4) << "64 tokens";
  EXPECT_EQ(headroom(100, 10, 0), 10 * 4);
  EXPECT_EQ(headroom(96, 1, 0), 0) << "nothing runs beside it";
  EXPECT_EQ(headroom(96, 2, 0), 2 * 4);
  EXPECT_EQ(headroom(96, 10, 96), 0) << "no session grows over the model's context";
  EXPECT_EQ(headroom(96, 10, 97), 10);
  EXPECT_EQ(headroom(96, 10, 50), 0);
}

TEST(Plan, MemoryHoldsWholePages) {
  const auto capacity = [](std::int64_t kv_memory) {
    return *F16(Planned(Small(), {.kv_memory = kv_memory})).capacity;
  };
  constexpr std::int64_t kPage = 16 * kSmallToken;
  EXPECT_EQ(capacity(kPage - 1).pages, 0) << "the server refuses to start";
  EXPECT_EQ(capacity(kPage).pages, 1);
  EXPECT_EQ(capacity(2 * kPage - 1).pages, 1);
  EXPECT_EQ(capacity(2 * kPage).tokens, 32);
  EXPECT_EQ(capacity((std::int64_t{kMaxPages} + 1) * kPage).pages, kMaxPages);
  EXPECT_EQ(capacity(std::int64_t{kMaxPages} * kPage - 1).pages, kMaxPages - 1);
}

TEST(Plan, SessionsThatFitAreThoseWhosePoolFits) {
  for (const std::int64_t pages : {0, 1, 6, 7, 11, 12, 13, 14, 100}) {
    const Plan plan = Planned(
        Small(), {.context = 100, .shared_prefix = 40, .kv_memory = pages * 16 * kSmallToken});
    const Capacity& capacity = *F16(plan).capacity;
    EXPECT_EQ(capacity.sessions, pages / 7) << pages;
    std::int64_t fit = 0;
    while (2 + 5 * (fit + 1) <= pages) ++fit;
    EXPECT_EQ(capacity.sharing_sessions, fit) << pages;
  }
}

// Published: 4 GiB hold 8,192 tokens of Llama 2 7B, and 32,768 of Llama 3 8B.
TEST(Plan, KnownCapacities) {
  const auto tokens = [](const char* model) {
    return F16(Planned(KnownModelSubject(model), {.kv_memory = std::int64_t{4} << 30}))
        .capacity->tokens;
  };
  EXPECT_EQ(tokens("llama-2-7b"), 8'192);
  EXPECT_EQ(tokens("llama-3-8b"), 32'768);
}

TEST(Plan, WhatDoesNotFitInto63BitsIsRefused) {
  Subject subject = Small();
  subject.shape.layers = kMaxPlannedLayers;
  subject.shape.kv_heads = kMaxPlannedHeads;
  subject.shape.head_dim = kMaxPlannedHeadDim;
  EXPECT_EQ(F16(Planned(subject, {})).bytes_per_token, std::int64_t{1} << 42);
  // 2^63 bytes are 2^21 tokens.
  EXPECT_TRUE(MakePlan(subject, {.page_size = 1, .context = (1 << 21) - 65}).ok());
  const auto refused = MakePlan(subject, {.page_size = 1, .context = 1 << 21});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("2097152 tokens"));
  EXPECT_FALSE(MakePlan(subject, {.page_size = 1, .context = 1 << 20, .sessions = 1'000'000}).ok());
}

TEST(Plan, AShapeThatNoPagesCanHaveIsRefused) {
  const auto refusal = [](const Subject& subject) {
    return std::string(MakePlan(subject, {}).status().message());
  };
  Subject subject = Small();
  for (const std::int64_t dims : {8, 16, 24, 65536}) {
    subject.shape.head_dim = dims;
    EXPECT_EQ(refusal(subject), "");
  }
  for (const std::int64_t dims : {1, 7, 9, 15, 17, 65535}) {
    subject.shape.head_dim = dims;
    EXPECT_EQ(MakePlan(subject, {}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(refusal(subject), HasSubstr("no pages can have this shape"));
    EXPECT_THAT(refusal(subject), HasSubstr("these have " + std::to_string(dims)));
  }
  // A latent and its rotated key lie in the halves of a head.
  for (const std::int64_t rank : {1, 47, 48, 49}) {
    subject.shape.latent = Latent{.rank = 2 * rank, .rope = 64};
    EXPECT_EQ(refusal(subject).empty(), rank == 48) << rank;
  }
}

TEST(CacheShape, EveryBoundIsChecked) {
  const auto check = [](auto change) {
    CacheShape shape = {.layers = 2, .kv_heads = 2, .head_dim = 8, .latent = {}, .windows = {}};
    change(shape);
    return std::string(CheckCacheShape(shape).message());
  };
  EXPECT_EQ(check([](CacheShape&) {}), "");
  EXPECT_THAT(check([](CacheShape& s) { s.layers = 0; }), HasSubstr("layers is 0 or not told"));
  EXPECT_THAT(check([](CacheShape& s) { s.layers = -1; }), HasSubstr("layers is -1"));
  EXPECT_EQ(check([](CacheShape& s) { s.layers = kMaxPlannedLayers; }), "");
  EXPECT_THAT(check([](CacheShape& s) { s.layers = kMaxPlannedLayers + 1; }), HasSubstr("4097"));
  EXPECT_THAT(check([](CacheShape& s) { s.kv_heads = 0; }), HasSubstr("KV heads is 0"));
  EXPECT_EQ(check([](CacheShape& s) { s.kv_heads = kMaxPlannedHeads; }), "");
  EXPECT_THAT(check([](CacheShape& s) { s.kv_heads = kMaxPlannedHeads + 1; }), HasSubstr("4097"));
  EXPECT_THAT(check([](CacheShape& s) { s.head_dim = 0; }), HasSubstr("size of a head is 0"));
  EXPECT_EQ(check([](CacheShape& s) { s.head_dim = kMaxPlannedHeadDim; }), "");
  EXPECT_THAT(check([](CacheShape& s) { s.head_dim = kMaxPlannedHeadDim + 1; }),
              HasSubstr("65537"));
  EXPECT_THAT(check([](CacheShape& s) { s.windows = {1}; }), HasSubstr("1 windows for 2 layers"));
  EXPECT_THAT(check([](CacheShape& s) {
                s.windows = {1, 0, 1};
              }),
              HasSubstr("3 windows for 2 layers"));
  EXPECT_EQ(check([](CacheShape& s) { s.windows = {0, kMaxPlannedContext}; }), "");
  EXPECT_THAT(check([](CacheShape& s) {
                s.windows = {0, kMaxPlannedContext + 1};
              }),
              HasSubstr("1073741825"));
  EXPECT_THAT(check([](CacheShape& s) { s.windows = {0, -1}; }), HasSubstr("a window is -1"));
  EXPECT_THAT(check([](CacheShape& s) { s.latent = Latent{.rank = 0, .rope = 64}; }),
              HasSubstr("size of the latent is 0"));
  EXPECT_THAT(check([](CacheShape& s) { s.latent = Latent{.rank = 512, .rope = 0}; }),
              HasSubstr("size of the rotated key is 0"));
  EXPECT_THAT(check([](CacheShape& s) { s.latent = Latent{.rank = 512, .rope = 63}; }),
              HasSubstr("575 numbers, which is odd"));
}

}  // namespace
}  // namespace banyan::server
