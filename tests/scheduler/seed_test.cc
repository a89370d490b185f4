// Same seed, same text: on a real (tiny) model, through scheduler and cache, whatever else runs and
// however a request was batched, cut into chunks, cached or evicted.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/model.h"
#include "scheduler/scheduler.h"
#include "tests/model/tiny_model.h"

namespace banyan::scheduler {
namespace {

constexpr std::int32_t kVocabulary = 100;

// Everything that a client is told, bit for bit.
struct Text {
  std::vector<ScoredToken> tokens;
  std::vector<ScoredToken> prompt;
  FinishReason reason = FinishReason::kNone;
};

struct Setting {
  std::int32_t page_size = 16;
  std::int64_t slots = 4096;
  std::int32_t threads = 1;
  std::int32_t max_batch_tokens = 200;
  std::int32_t max_running = 16;
  std::int32_t headroom_tokens = 64;
  std::int64_t max_pages_aside = 1024;
};

class Server {
 public:
  explicit Server(const Setting& setting)
      : model_(Load(setting)),
        cache_({.page_size = setting.page_size, .pages = model_->pages()}),
        scheduler_({.max_batch_tokens = setting.max_batch_tokens,
                    .max_running = setting.max_running,
                    .context_length = model_->facts().context_length,
                    .headroom_tokens = setting.headroom_tokens,
                    .max_pages_aside = setting.max_pages_aside},
                   cache_) {}

  void Submit(Request request) {
    request.id = RequestId{streams_.size() + 1};
    request.stream = std::make_shared<TokenStream>(1000, [] {});
    streams_.push_back(request.stream);
    scheduler_.Submit(std::move(request), Tick(0));
  }

  bool Step() {
    const Batch& batch = scheduler_.Next(Tick(0));
    if (batch.empty()) return false;
    StepResult result;
    const absl::Status status = model_->Forward(batch, result);
    EXPECT_TRUE(status.ok()) << status;
    scheduler_.Complete(result, Tick(0));
    return true;
  }

  // Runs all that was submitted since the last call; the answers in that order.
  std::vector<Text> Run() {
    while (Step()) {
    }
    std::vector<Text> texts;
    for (; read_ < streams_.size(); ++read_) texts.push_back(Read(*streams_[read_]));
    return texts;
  }

  radix::Stats stats() const { return cache_.stats(); }
  Stats scheduling() const { return scheduler_.stats(); }

 private:
  static std::unique_ptr<model::Model> Load(const Setting& setting) {
    const model::TinyModel tiny({.vocabulary = kVocabulary});
    model::Options options{.threads = setting.threads,
                           .page_size = setting.page_size,
                           .max_batch_tokens = setting.max_batch_tokens};
    constexpr std::int64_t kBytesPerToken = 2 * 2 * 2 * 16 * 2;  // layers, K and V, heads, f16
    options.kv_memory = setting.slots * kBytesPerToken;
    auto loaded = model::Model::Load(model::OpenBytes(tiny.Write()), options);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->pages(), setting.slots / setting.page_size);
    return *std::move(loaded);
  }

  static Text Read(TokenStream& stream) {
    Text text;
    std::vector<StreamEvent> events;
    stream.Take(events);
    for (const StreamEvent& event : events) {
      if (event.kind == StreamEvent::Kind::kPromptScores) {
        text.prompt.insert(text.prompt.end(), event.scores.begin(), event.scores.end());
      } else if (event.kind == StreamEvent::Kind::kToken) {
        text.tokens.push_back({event.token, event.log_probability, event.top});
      } else if (event.kind == StreamEvent::Kind::kFinished) {
        text.reason = event.reason;
      }
    }
    return text;
  }

  std::unique_ptr<model::Model> model_;
  radix::PrefixCache cache_;
  Scheduler scheduler_;
  std::vector<std::shared_ptr<TokenStream>> streams_;
  std::size_t read_ = 0;
};

void ExpectSame(const std::vector<ScoredToken>& got, const std::vector<ScoredToken>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].token, want[i].token) << "at " << i;
    EXPECT_EQ(got[i].log_probability, want[i].log_probability) << "at " << i;
    ASSERT_EQ(got[i].top.size(), want[i].top.size());
    for (std::size_t j = 0; j < got[i].top.size(); ++j) {
      EXPECT_EQ(got[i].top[j].token, want[i].top[j].token);
      EXPECT_EQ(got[i].top[j].log_probability, want[i].top[j].log_probability);
    }
  }
}

void ExpectSame(const std::vector<Text>& got, const std::vector<Text>& want, const char* how) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(std::string(how) + ", request " + std::to_string(i));
    EXPECT_EQ(got[i].reason, want[i].reason);
    ExpectSame(got[i].tokens, want[i].tokens);
    ExpectSame(got[i].prompt, want[i].prompt);
  }
}

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t size) {
  model::Random random(seed);
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < size; ++i)
    tokens.push_back(static_cast<TokenId>(random.Below(kVocabulary)));
  return tokens;
}

// Requests that share beginnings, each with another way to sample.
std::vector<Request> Requests() {
  std::vector<SamplingParams> ways(9);
  ways[0].temperature = 0;
  ways[2] = {.temperature = 0.7F, .top_k = 20, .top_p = 0.9F};
  ways[3] = {.temperature = 1.5F, .min_p = 0.05F};
  ways[4] = {.repetition_penalty = 1.3F};
  ways[5] = {.temperature = 0, .presence_penalty = 1.0F, .frequency_penalty = 0.5F};
  ways[6] = {.temperature = 0.8F,
             .top_k = 50,
             .top_p = 0.95F,
             .min_p = 0.01F,
             .repetition_penalty = 1.1F,
             .presence_penalty = -0.5F,
             .frequency_penalty = 0.25F};
  ways[8].choice = 1;  // of the same seed as ways[7]
  std::vector<Request> requests;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    Request& request = requests.emplace_back();
    request.prompt = Tokens(i % 2, 70);
    const std::vector<TokenId> own = Tokens(100 + i / 3, 5 + 3 * i);
    request.prompt.insert(request.prompt.end(), own.begin(), own.end());
    request.max_tokens = 12 + static_cast<std::int64_t>(i);
    request.sampling = ways[i];
    request.sampling.seed = i == 8 ? 7 : i;
    if (i % 3 == 1) request.logit_bias = {{static_cast<TokenId>(i), 2.5F}, {50, -100.0F}};
    if (i % 3 == 2) request.top_logprobs = 5;
    request.score_prompt = i == 2 || i == 5;
    if (i >= 6) request.min_tokens = 6;
    for (TokenId end = 0; i >= 6 && end < kVocabulary; end += 9) request.end_tokens.push_back(end);
  }
  requests[8].prompt = requests[7].prompt;
  return requests;
}

std::vector<Text> RunTogether(Server& server) {
  for (const Request& request : Requests()) server.Submit(request);
  return server.Run();
}

// Each request alone on a server of its own.
std::vector<Text> RunAlone() {
  std::vector<Text> texts;
  for (const Request& request : Requests()) {
    Server server({});
    server.Submit(request);
    texts.push_back(server.Run()[0]);
  }
  return texts;
}

class Seed : public ::testing::Test {
 protected:
  static const std::vector<Text>& Alone() {
    static const auto* const texts = new std::vector<Text>(RunAlone());
    return *texts;
  }
};

TEST_F(Seed, InBatchesAndChunksOfAnySize) {
  for (const auto& [budget, running] : std::vector<std::pair<std::int32_t, std::int32_t>>{
           {2, 1}, {4, 3}, {17, 16}, {64, 16}, {200, 16}, {1000, 2}}) {
    Server server({.max_batch_tokens = budget, .max_running = running});
    ExpectSame(RunTogether(server), Alone(), ("budget " + std::to_string(budget)).c_str());
  }
}

TEST_F(Seed, WithAnyPageSizeAndNumberOfThreads) {
  for (const std::int32_t page_size : {1, 4, 64}) {
    Server server({.page_size = page_size, .threads = 2, .max_batch_tokens = 33});
    ExpectSame(RunTogether(server), Alone(), ("pages of " + std::to_string(page_size)).c_str());
  }
}

TEST_F(Seed, FromAWarmCache) {
  Server server({.max_batch_tokens = 40});
  ExpectSame(RunTogether(server), Alone(), "cold");
  ExpectSame(RunTogether(server), Alone(), "warm");
  std::vector<Text> one_by_one;
  for (const Request& request : Requests()) {
    server.Submit(request);
    one_by_one.push_back(server.Run()[0]);
  }
  ExpectSame(one_by_one, Alone(), "warm and alone");
}

TEST_F(Seed, WhileOthersComeAndEvict) {
  Server server({.slots = 1024, .max_batch_tokens = 24, .max_running = 6});
  std::vector<Request> requests = Requests();
  std::vector<std::size_t> ours;
  std::size_t submitted = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::uint64_t other = 0; other < 3; ++other, ++submitted) {
      Request request;
      request.prompt = Tokens(1000 + submitted % 11, 90);
      request.max_tokens = 10;
      request.sampling = {.frequency_penalty = 1, .seed = submitted};
      server.Submit(std::move(request));
    }
    ours.push_back(submitted++);
    server.Submit(requests[i]);
    for (std::size_t step = 0; step < 5 * i; ++step) server.Step();
  }
  const std::vector<Text> all = server.Run();
  std::vector<Text> texts;
  for (const std::size_t index : ours) texts.push_back(all[index]);
  EXPECT_GT(server.stats().evicted_pages, 0);
  ExpectSame(texts, Alone(), "among others");
}

// Under policies of every type, with answers that outgrow what they keep several times.
std::vector<Request> LossyRequests() {
  using Type = KvPolicy::Type;
  constexpr KvPolicy kPolicies[] = {{.type = Type::kStreaming, .sinks = 4, .window = 30},
                                    {.type = Type::kH2o, .budget = 24, .observe = 8},
                                    {.type = Type::kScissorhands, .budget = 24, .observe = 8},
                                    {.type = Type::kSnapKv, .budget = 24, .observe = 8}};
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 8; ++i) {
    Request& request = requests.emplace_back();
    request.prompt = Tokens(i, 20 + 5 * i);
    request.max_tokens = 100;
    request.sampling.seed = i;
    request.kv_policy = kPolicies[i % 4];
  }
  return requests;
}

TEST(LossySeed, WhetherOrNotItWasPreempted) {
  std::vector<Text> alone;
  for (const Request& request : LossyRequests()) {
    Server server({.page_size = 4});
    server.Submit(request);
    alone.push_back(server.Run()[0]);
  }
  const auto together = [&](std::int64_t max_pages_aside) {
    Server server({.page_size = 4,
                   .slots = 200,
                   .threads = 2,
                   .headroom_tokens = 1,
                   .max_pages_aside = max_pages_aside});
    for (const Request& request : LossyRequests()) server.Submit(request);
    ExpectSame(server.Run(), alone, ("room for " + std::to_string(max_pages_aside)).c_str());
    EXPECT_GT(server.scheduling().preemptions, 1);
    return server.scheduling().recomputed_tokens;
  };
  const std::int64_t kept = together(1024);
  EXPECT_LT(kept, together(0)) << "what was put aside is not computed again";
}

TEST_F(Seed, OthersAndOtherChoicesGiveOtherText) {
  const auto ids = [](const Text& text) {
    std::vector<TokenId> tokens;
    for (const ScoredToken& one : text.tokens) tokens.push_back(one.token);
    return tokens;
  };
  EXPECT_NE(ids(Alone()[7]), ids(Alone()[8])) << "another choice";
  Request other = Requests()[7];
  ++other.sampling.seed;
  Server server({});
  server.Submit(other);
  EXPECT_NE(ids(server.Run()[0]), ids(Alone()[7])) << "another seed";
}

TEST_F(Seed, TheRequestsAreWhatTheyShouldBe) {
  const std::vector<Request> requests = Requests();
  int stopped = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Text& text = Alone()[i];
    stopped += text.reason == FinishReason::kStop ? 1 : 0;
    EXPECT_GE(static_cast<std::int64_t>(text.tokens.size()), requests[i].min_tokens);
    EXPECT_EQ(text.prompt.size(), requests[i].score_prompt ? requests[i].prompt.size() - 1 : 0);
    for (const ScoredToken& one : text.tokens) {
      EXPECT_EQ(one.top.size(), static_cast<std::size_t>(requests[i].top_logprobs));
    }
  }
  EXPECT_GT(stopped, 0) << "by an end token, after min_tokens";
}

}  // namespace
}  // namespace banyan::scheduler
