// Batch invariance: all logits and the KV bytes of a prompt are the same bits however it is run.
//
// The same test runs on tiny models of every tensor type and family, and on the default model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

// What a prompt left behind: the logits after each token, what was drawn after the last, and its
// pages.
struct Trace {
  std::vector<float> logits;
  TokenId next = -1;
  std::vector<std::byte> pages;
};

void ExpectSame(const Trace& got, const Trace& want, const std::string& how) {
  SCOPED_TRACE(how);
  ASSERT_EQ(got.logits.size(), want.logits.size());
  ASSERT_EQ(got.pages.size(), want.pages.size());
  // Not EXPECT_EQ of the vectors: it would print millions of numbers, and NaN differs from itself.
  EXPECT_EQ(std::memcmp(got.logits.data(), want.logits.data(), got.logits.size() * sizeof(float)),
            0)
      << "logits differ";
  EXPECT_EQ(got.next, want.next);
  EXPECT_EQ(std::memcmp(got.pages.data(), want.pages.data(), got.pages.size()), 0)
      << "KV bytes differ";
}

// A model under test with prompts made for it.
class Bench {
 public:
  static constexpr std::int32_t kPageSize = 16;
  static constexpr std::int32_t kPrompt = 5 * kPageSize;  // over one chunk of keys, whole pages

  Bench(std::unique_ptr<File> file, std::int32_t threads, kernels::KvFormat format) {
    const Options options{.threads = threads,
                          .page_size = kPageSize,
                          .kv_memory = std::int64_t{16} << 20,
                          .kv_format = format,
                          .max_sequences = 8,
                          .max_batch_tokens = 160};
    auto model = Model::Load(std::move(file), options);
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    EXPECT_GE(model_->pages(), 40);
  }

  std::vector<TokenId> Prompt(std::uint64_t seed, std::int32_t size = kPrompt) const {
    Random random(seed);
    const auto bound = static_cast<std::uint32_t>(model_->facts().vocabulary_size);
    std::vector<TokenId> tokens;
    for (int i = 0; i < size; ++i) tokens.push_back(static_cast<TokenId>(random.Below(bound)));
    return tokens;
  }

  // Runs tokens[from..] in steps of `chunk`; the logits of the whole tail.
  Trace Run(std::span<const TokenId> tokens, const std::vector<PageId>& pages, std::size_t chunk,
            std::size_t from = 0, std::vector<PageCopy> copies = {}) {
    Trace trace;
    for (std::size_t at = from; at < tokens.size(); at += chunk) {
      const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
      Batch batch;
      batch.copies = std::exchange(copies, {});
      batch.sequences.push_back(Ask(part, at, pages));
      const StepResult result = Forward(batch);
      const std::vector<float>& logits = result.sequences[0].logits;
      trace.logits.insert(trace.logits.end(), logits.begin(), logits.end());
      trace.next = result.sequences[0].token;
    }
    trace.pages = ReadPages(pages);
    return trace;
  }

  StepResult Forward(const Batch& batch) {
    StepResult result;
    const absl::Status status = model_->Forward(batch, result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }

  static Sequence Ask(std::span<const TokenId> tokens, std::size_t at,
                      const std::vector<PageId>& pages, std::size_t number = 0) {
    return {.tokens = tokens,
            .first_position = static_cast<std::int64_t>(at),
            .pages = pages,
            .open_page = static_cast<std::int32_t>(number),
            .logits = Logits::kReturnAll};
  }

  std::vector<std::byte> ReadPages(const std::vector<PageId>& pages) const {
    const std::size_t size = model_->page_bytes();
    std::vector<std::byte> bytes(pages.size() * size);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      model_->ReadPage(pages[i], std::span(bytes).subspan(i * size, size));
    }
    return bytes;
  }

  // Fills every page with bytes that are NaN in every format: whoever reads one that it did not
  // write shows.
  void PoisonPages() {
    const std::vector<std::byte> poison(model_->page_bytes(), std::byte{0xFF});
    for (PageId page = 0; page < model_->pages(); ++page) model_->WritePage(page, poison);
  }

  bool seals_pages() const { return model_->facts().seals_pages; }
  std::size_t vocabulary() const {
    return static_cast<std::size_t>(model_->facts().vocabulary_size);
  }

 private:
  std::unique_ptr<Model> model_;
};

// Eight sequences in one step, ours in their midst and each of another length and history.
Trace InABatchOfEight(Bench& bench, std::span<const TokenId> tokens,
                      const std::vector<PageId>& pages) {
  constexpr std::size_t kOthers = 7;
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::vector<PageId>> tables;
  for (std::size_t i = 0; i < kOthers; ++i) {
    prompts.push_back(bench.Prompt(1000 + i, static_cast<std::int32_t>(1 + 3 * i)));
    tables.push_back({static_cast<PageId>(20 + 2 * i), static_cast<PageId>(21 + 2 * i)});
  }
  Trace trace;
  // Two steps: the second finds every sequence with a history.
  const std::size_t half = tokens.size() / 2;
  for (const std::size_t at : {std::size_t{0}, half}) {
    Batch batch;
    for (std::size_t i = 0; i < kOthers; ++i) {
      if (i == 3) batch.sequences.push_back(Bench::Ask(tokens.subspan(at, half), at, pages));
      const std::span<const TokenId> prompt = prompts[i];
      batch.sequences.push_back(at == 0
                                    ? Bench::Ask(prompt, 0, tables[i], i + 1)
                                    : Bench::Ask(prompt.first(1), prompt.size(), tables[i], i + 1));
    }
    const StepResult result = bench.Forward(batch);
    const std::vector<float>& logits = result.sequences[3].logits;
    trace.logits.insert(trace.logits.end(), logits.begin(), logits.end());
    trace.next = result.sequences[3].token;
  }
  trace.pages = bench.ReadPages(pages);
  return trace;
}

// The tail of a trace: from token `from` on, with all pages.
Trace From(Trace whole, std::size_t from, std::size_t vocabulary) {
  whole.logits.erase(whole.logits.begin(),
                     whole.logits.begin() + static_cast<std::ptrdiff_t>(from * vocabulary));
  return whole;
}

// Requests that hang below one prompt of 64 tokens, two of them in one conversation of 128: their
// first chunks of keys are the same pages. Steps that prefill and decode them together leave what
// each leaves alone.
void RunUnderOnePrefix(Bench& bench) {
  constexpr std::size_t kPromptTokens = 64;
  constexpr std::size_t kConversation = 128;
  struct Request {
    std::size_t cached;  // tokens on shared pages
    std::int32_t own;
    std::vector<PageId> pages;
    std::vector<TokenId> tokens{};
    Trace alone{};
    Trace together{};
  };
  std::vector<Request> requests = {{kConversation, 10, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                                   {kConversation, 3, {0, 1, 2, 3, 4, 5, 6, 7, 9}},
                                   {kPromptTokens, 20, {0, 1, 2, 3, 10, 11}},
                                   {kPromptTokens, 1, {0, 1, 2, 3, 12}}};
  const std::vector<TokenId> conversation = bench.Prompt(20, kConversation);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    const std::vector<TokenId> own = bench.Prompt(21 + i, request.own);
    const auto cached = static_cast<std::ptrdiff_t>(request.cached);
    request.tokens.assign(conversation.begin(), conversation.begin() + cached);
    request.tokens.insert(request.tokens.end(), own.begin(), own.end());
    bench.PoisonPages();
    request.alone = From(bench.Run(request.tokens, request.pages, request.tokens.size()),
                         request.cached, bench.vocabulary());
  }

  bench.PoisonPages();
  bench.Run(conversation, requests[0].pages, conversation.size());
  for (const bool last : {false, true}) {  // all but each one's last token, then that of all
    Batch batch;
    std::vector<Request*> in_step;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      const std::span<const TokenId> tokens = request.tokens;
      const std::size_t end = tokens.size() - 1;
      if (!last && end == request.cached) continue;
      batch.sequences.push_back(
          last ? Bench::Ask(tokens.subspan(end), end, request.pages, i)
               : Bench::Ask(tokens.subspan(request.cached, end - request.cached), request.cached,
                            request.pages, i));
      in_step.push_back(&request);
    }
    const StepResult result = bench.Forward(batch);
    for (std::size_t i = 0; i < in_step.size(); ++i) {
      Trace& trace = in_step[i]->together;
      const std::vector<float>& logits = result.sequences[i].logits;
      trace.logits.insert(trace.logits.end(), logits.begin(), logits.end());
      trace.next = result.sequences[i].token;
    }
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].together.pages = bench.ReadPages(requests[i].pages);
    ExpectSame(requests[i].together, requests[i].alone,
               "under one prefix, request " + std::to_string(i));
  }
}

const std::vector<PageId>& OwnPages() {
  static const std::vector<PageId> pages = {3, 11, 5, 2, 8};
  return pages;
}

// A prompt in one step.
Trace RunAlone(Bench& bench) { return bench.Run(bench.Prompt(7), OwnPages(), Bench::kPrompt); }

// Everything that may happen to it, on one model; returns its trace.
Trace RunEveryWay(Bench& bench) {
  const std::vector<TokenId> tokens = bench.Prompt(7);
  const std::vector<PageId>& pages = OwnPages();
  const Trace alone = RunAlone(bench);
  EXPECT_EQ(alone.logits.size(), tokens.size() * bench.vocabulary());

  bench.PoisonPages();
  ExpectSame(InABatchOfEight(bench, tokens, pages), alone, "in a batch of 8");
  for (const std::size_t chunk : {1, 7, 16, 64}) {
    bench.PoisonPages();
    ExpectSame(bench.Run(tokens, pages, chunk), alone, "in chunks of " + std::to_string(chunk));
  }

  // Cached: a second sequence continues on the pages of the first.
  const std::size_t cached = 3 * Bench::kPageSize;
  const std::vector<PageId> shared = {3, 11, 5, 14, 13};
  ExpectSame(bench.Run(tokens, shared, tokens.size(), cached),
             From(alone, cached, bench.vocabulary()), "on shared pages");
  // Cached to within a page: its first slots are copied.
  if (!bench.seals_pages()) {
    const std::vector<PageId> copied = {3, 11, 17, 15, 16};
    ExpectSame(bench.Run(tokens, copied, tokens.size(), cached - 6, {{5, 17, 10}}),
               From(alone, cached - 6, bench.vocabulary()), "behind copied slots");
  }

  // The pages served another prompt in between, and are filled again in another order.
  const std::vector<PageId> reversed(pages.rbegin(), pages.rend());
  bench.Run(bench.Prompt(8), pages, tokens.size());
  ExpectSame(bench.Run(tokens, reversed, tokens.size()), alone, "after eviction and refill");

  RunUnderOnePrefix(bench);
  return alone;
}

void TestInvariance(const std::function<std::unique_ptr<File>()>& open,
                    kernels::KvFormat format = kernels::KvFormat::kF16,
                    Trace (*run_with_one)(Bench&) = RunEveryWay) {
  Bench one(open(), 1, format);
  const Trace with_one = run_with_one(one);
  Bench two(open(), 2, format);
  const Trace with_two = RunEveryWay(two);
  ExpectSame(with_two, with_one, "with 2 threads");
  // The test sees differences: another prompt leaves another trace.
  const Trace other = one.Run(one.Prompt(9), {0, 1, 2, 3, 4}, Bench::kPrompt);
  EXPECT_NE(other.logits, with_one.logits);
  EXPECT_NE(other.pages, with_one.pages);
}

class TinyInvariance : public ::testing::TestWithParam<TinyOptions> {};

TEST_P(TinyInvariance, SameBitsHoweverItIsRun) {
  TestInvariance([] { return OpenBytes(TinyModel(GetParam()).Write()); });
}

// A family with windows and one without.
class FormatInvariance : public ::testing::TestWithParam<kernels::KvFormat> {};

TEST_P(FormatInvariance, SameBitsHoweverItIsRun) {
  const TinyOptions plain{.type = kernels::DType::kQ8_0, .head_dim = 32, .rope_dims = 32};
  const TinyOptions windows{.family = "gemma3",
                            .type = kernels::DType::kQ4_1,
                            .layers = 7,
                            .head_dim = 32,
                            .rope_dims = 32,
                            .window = 21};
  for (const TinyOptions& options : {plain, windows})
    TestInvariance([&] { return OpenBytes(TinyModel(options).Write()); }, GetParam());
}

std::string NameOfFormat(const ::testing::TestParamInfo<kernels::KvFormat>& test) {
  return std::string(kernels::LayoutOf(test.param).name);
}
INSTANTIATE_TEST_SUITE_P(EveryFormat, FormatInvariance, ::testing::ValuesIn(kernels::kKvFormats),
                         NameOfFormat);

std::string NameOf(const ::testing::TestParamInfo<TinyOptions>& test) {
  return test.param.family + "_" + std::string(kernels::ShapeOf(test.param.type).name);
}

INSTANTIATE_TEST_SUITE_P(
    EveryType, TinyInvariance, ::testing::ValuesIn([] {
      using kernels::DType;
      std::vector<TinyOptions> all;
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                               DType::kQ4_1, DType::kQ5_0, DType::kQ5_1}) {
        all.push_back({.type = type});
      }
      for (const DType type : {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
        all.push_back(
            {.type = type, .head_dim = 64, .embedding = 256, .feed_forward = 256, .rope_dims = 64});
      }
      return all;
    }()),
    NameOf);

// With what the family has of its own; windows end within pages and between chunks of keys.
INSTANTIATE_TEST_SUITE_P(
    EveryFamily, TinyInvariance,
    ::testing::Values(
        TinyOptions{.family = "gemma3", .type = kernels::DType::kQ4_1, .layers = 7, .window = 21},
        TinyOptions{.family = "llama",
                    .type = kernels::DType::kQ8_0,
                    .tied_head = true,
                    .window = 37,
                    .biases = true,
                    .rope_factors = {1, 1, 1, 2, 3, 8, 8, 8}},
        TinyOptions{.family = "qwen2", .type = kernels::DType::kQ8_0, .rope_scaling = 4},
        TinyOptions{.family = "qwen3", .type = kernels::DType::kQ4_1, .kv_heads = 1}),
    NameOf);

class DefaultModelInvariance : public ::testing::TestWithParam<kernels::KvFormat> {};
INSTANTIATE_TEST_SUITE_P(EveryFormat, DefaultModelInvariance,
                         ::testing::ValuesIn(kernels::kKvFormats), NameOfFormat);

TEST_P(DefaultModelInvariance, SameBitsHoweverItIsRun) {
  const char* path = std::getenv("BANYAN_MODEL");
  ASSERT_NE(path, nullptr) << "set BANYAN_MODEL to the default model's file (./dev where model)";
  TestInvariance(
      [&]() -> std::unique_ptr<File> {
        auto file = File::Open(path);
        EXPECT_TRUE(file.ok()) << file.status();
        return file.ok() ? *std::move(file) : nullptr;
      },
      GetParam(), RunAlone);
}

}  // namespace
}  // namespace banyan::model
