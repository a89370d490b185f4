// That the simulator's own checks can fail: what a defect of the product cannot easily reach is
// broken here by hand.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/batch_check.h"
#include "tests/sim/counts.h"
#include "tests/sim/knowledge.h"
#include "tests/sim/oracle.h"
#include "tests/sim/reader.h"
#include "tests/sim/slot_model.h"
#include "tests/sim/trace.h"
#include "tests/sim/world.h"

namespace banyan::sim {
namespace {

using scheduler::FinishReason;
using scheduler::Request;
using scheduler::StreamEvent;

// Seven tokens of prompt, computed alone in pages 2, 0 and 3 of three slots each.
class Model : public testing::Test {
 protected:
  Model() {
    request_.id = RequestId{1};
    request_.prompt = {5, 6, 7, 8, 9, 5, 6};
    sequence_.request = request_.id;
    sequence_.tokens = request_.prompt;
    sequence_.pages = pages_;
    sequence_.logits = Logits::kSampleLast;
    sequence_.prompt_tokens = 7;
    batch_.step = 1;
  }

  TokenId Sample(Realm realm = 0) {
    batch_.sequences = {sequence_};
    return model_.Forward(batch_, [&](RequestId) { return realm; }).sequences[0].token;
  }
  // The last token alone, behind what the pages hold.
  float SampleLast(std::span<const PageId> pages) {
    sequence_.tokens = std::span(request_.prompt).last(1);
    sequence_.first_position = 6;
    sequence_.pages = pages;
    batch_.sequences = {sequence_};
    return model_.Forward(batch_, [](RequestId) { return 0; }).sequences[0].log_probability;
  }

  Request request_;
  std::vector<PageId> pages_ = {2, 0, 3};
  Sequence sequence_;
  Batch batch_;
  SlotModel model_{3, 8};
};

TEST_F(Model, AnswersAsTheOracleThatHasNoPages) {
  const Oracle oracle = Expect(request_, 0, 1);
  EXPECT_EQ(Sample(), oracle.sampled[0].token);
  EXPECT_EQ(model_.FirstWrong(pages_, std::span(oracle.path).first(7)), -1);
  EXPECT_EQ(SampleLast(pages_), oracle.sampled[0].log_probability);
}

TEST_F(Model, SeesAPageThatWasFreed) {
  Sample();
  model_.Poison(0);
  const Oracle oracle = Expect(request_, 0, 1);
  EXPECT_EQ(model_.FirstWrong(pages_, std::span(oracle.path).first(7)), 3);
  EXPECT_NE(SampleLast(pages_), oracle.sampled[0].log_probability);
}

TEST_F(Model, SeesPagesInAnotherOrder) {
  Sample();
  const std::vector<PageId> pages = {0, 2, 3};
  EXPECT_NE(SampleLast(pages), Expect(request_, 0, 1).sampled[0].log_probability);
}

TEST_F(Model, SeesTheSameTokensOfAnotherRealm) {
  Sample(1);
  EXPECT_NE(SampleLast(pages_), Expect(request_, 0, 1).sampled[0].log_probability);
}

TEST_F(Model, SeesACopyOfASlotLess) {
  Sample();
  const Oracle oracle = Expect(request_, 0, 1);
  const std::vector<PageId> pages = {2, 5, 3};
  batch_.copies = {{.from = 0, .to = 5, .slots = 2}};
  model_.Prepare(batch_);
  EXPECT_EQ(model_.FirstWrong(pages, std::span(oracle.path).first(7)), 5);
  batch_.copies = {{.from = 0, .to = 5, .slots = 3}};
  model_.Prepare(batch_);
  EXPECT_EQ(model_.FirstWrong(pages, std::span(oracle.path).first(7)), -1);
}

TEST_F(Model, WritesGarbageInAStepThatFails) {
  Sample();
  batch_.sequences = {sequence_};
  EXPECT_TRUE(model_.Fail(batch_).failed);
  const Oracle oracle = Expect(request_, 0, 1);
  EXPECT_EQ(model_.FirstWrong(pages_, std::span(oracle.path).first(7)), 0);
}

TEST(Question, EverythingThatIsAskedChangesTheAnswer) {
  const std::vector<TokenId> context = {1, 2, 3};
  const std::vector<TokenId> other = {1, 2, 4};
  const auto draw = [](const Question& question) { return Draw(42, question).token; };
  Question question{.context = context, .prompt_tokens = 2};
  question.sampling.repetition_penalty = 1.25F;
  const auto differs = [&](const Question& changed) {
    // A token may be the same by chance; the hash of several sums is not.
    for (std::uint64_t sum = 0; sum < 8; ++sum) {
      if (Draw(sum, changed).token != Draw(sum, question).token) return true;
    }
    return false;
  };
  Question changed = question;
  changed.context = other;
  EXPECT_TRUE(differs(changed));
  changed = question;
  changed.prompt_tokens = 3;
  EXPECT_TRUE(differs(changed));
  changed = question;
  changed.sampling.seed = 1;
  EXPECT_TRUE(differs(changed));
  changed = question;
  const std::vector<TokenBias> bias = {{7, 2.0F}};
  changed.logit_bias = bias;
  EXPECT_TRUE(differs(changed));
  changed = question;
  const std::vector<TokenId> forbidden = {draw(question)};
  changed.forbidden = forbidden;
  EXPECT_NE(draw(changed), draw(question));
}

TEST(Knowledge, KnowsTheLongestCommonBeginning) {
  Knowledge knowledge;
  knowledge.Walk(std::vector<TokenId>{1, 2, 3});
  knowledge.Walk(std::vector<TokenId>{1, 5});
  EXPECT_EQ(knowledge.Match(std::vector<TokenId>{1, 2, 4, 3}), 2);
  EXPECT_EQ(knowledge.Match(std::vector<TokenId>{1, 5, 1}), 2);
  EXPECT_EQ(knowledge.Match(std::vector<TokenId>{2}), 0);
  knowledge.Forget();
  EXPECT_EQ(knowledge.Match(std::vector<TokenId>{1}), 0);
}

TEST(Trace, ShowsWhatConcernsARequestAndAll) {
  Trace trace;
  trace.SetTick(3);
  trace.Add("is admitted with %d tokens of %d", RequestId{7}, 5, 9);
  trace.Add("is nothing to it", RequestId{8});
  trace.Add("everything stops");
  EXPECT_EQ(trace.Tail(RequestId{7}),
            "  tick 3: request 7 is admitted with 5 tokens of 9\n"
            "  tick 3: everything stops\n");
  EXPECT_EQ(trace.Tail(kNobody, 1), "  tick 3: everything stops\n");
}

TEST(Counts, SaySoWhenSomethingNeverHappened) {
  Counts counts;
  EXPECT_EQ(counts.Missing(1), "seeds");
  EXPECT_EQ(counts.Missing(0), "");
}

// A client who is to read three tokens, and a stage without a scheduler's doing.
class Reading : public testing::Test {
 protected:
  Reading() : stage_(MakeSmall(), nullptr), reader_(stage_) {
    Client& client = stage_.clients.emplace_back();
    client.id = RequestId{1};
    client.request.prompt = {1, 2};
    client.capacity = 10;
    client.stream = std::make_shared<scheduler::TokenStream>(10, [] {});
    client.oracle = Expect(client.request, 0, 3);
    client.cached = 0;
    StreamEvent admitted;
    admitted.kind = StreamEvent::Kind::kAdmitted;
    client.stream->Push(admitted);
  }

  static Scenario MakeSmall() {
    Scenario scenario;
    scenario.cache = {.page_size = 2, .pages = 4};
    scenario.scheduler.context_length = 100;
    return scenario;
  }
  Client& client() { return stage_.clients[0]; }
  void Send(std::size_t index, TokenId more = 0) {
    const ScoredToken& token = client().oracle.sampled[index];
    StreamEvent event;
    event.token = token.token + more;
    event.log_probability = token.log_probability;
    client().stream->Push(event);
    ++client().sampled;
  }
  void End(FinishReason reason) {
    client().finished = true;
    client().reason = reason;
    client().stream->Finish(reason, {});
  }
  std::string Wrong() {
    try {
      reader_.Read(client());
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  Stage stage_;
  Reader reader_;
};

TEST_F(Reading, TheWholeAnswerIsRight) {
  for (std::size_t i = 0; i < 3; ++i) Send(i);
  End(FinishReason::kLength);
  EXPECT_EQ(Wrong(), "");
  EXPECT_TRUE(client().read_end);
}

TEST_F(Reading, AnotherTokenIsSeen) {
  Send(0, 1);
  EXPECT_NE(Wrong().find("as its token 0"), std::string::npos);
}

TEST_F(Reading, ATokenThatWasLeftOutIsSeen) {
  Send(0);
  Send(2);
  EXPECT_NE(Wrong().find("as its token 1"), std::string::npos);
}

TEST_F(Reading, AnAnswerThatEndsEarlyIsSeen) {
  Send(0);
  End(FinishReason::kLength);
  EXPECT_NE(Wrong().find("without cause"), std::string::npos);
}

TEST_F(Reading, ATokenThatWasSampledAndNotSentIsSeen) {
  Send(0);
  ++client().sampled;
  client().ask = Ask::kCancel;
  End(FinishReason::kCancelled);
  EXPECT_NE(Wrong().find("read 1 tokens of 2"), std::string::npos);
}

TEST_F(Reading, ACancelThatNobodyAskedForIsSeen) {
  End(FinishReason::kCancelled);
  EXPECT_NE(Wrong().find("without cause"), std::string::npos);
}

TEST_F(Reading, AReaderWhoIsNotSlowIsSeen) {
  Send(0);
  End(FinishReason::kSlowReader);
  EXPECT_NE(Wrong().find("without cause"), std::string::npos);
}

// A batch whose only sequence names what it may not.
class Batches : public Reading {
 protected:
  Batches() : check_(stage_) {
    view_ = stage_.cache.Open(stage_.NamespaceOf(0), client().request.prompt, 0);
    EXPECT_TRUE(stage_.cache.Grow(view_, 1));
    client().submitted = client().running = client().prefill = client().began = true;
    client().max_output = 3;
    tokens_ = client().request.prompt;
    table_ = {view_.page_table().begin(), view_.page_table().end()};
  }
  std::string Wrong() {
    Batch batch;
    batch.step = 1;
    Sequence& sequence = batch.sequences.emplace_back();
    sequence.request = client().id;
    sequence.tokens = tokens_;
    sequence.pages = table_;
    sequence.logits = logits_;
    try {
      check_.Check(batch);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  BatchCheck check_;
  radix::View view_;
  std::vector<TokenId> tokens_;
  std::vector<PageId> table_;
  Logits logits_ = Logits::kSampleLast;
};

TEST_F(Batches, ALegalOneIsRight) { EXPECT_EQ(Wrong(), ""); }

TEST_F(Batches, OtherTokensAreSeen) {
  tokens_[1] = 9;
  EXPECT_NE(Wrong().find("other tokens"), std::string::npos);
}

TEST_F(Batches, APageThatIsFreeIsSeen) {
  table_[0] = table_[0] == 0 ? 1 : 0;
  EXPECT_NE(Wrong().find("which is free"), std::string::npos);
}

TEST_F(Batches, APageThatOthersReadIsNotWritten) {
  stage_.cache.Append(view_, client().request.prompt);
  EXPECT_NE(Wrong().find("which others may read"), std::string::npos);
}

TEST_F(Batches, APageTooFewIsSeen) {
  table_.clear();
  EXPECT_NE(Wrong().find("with 0 pages"), std::string::npos);
}

TEST_F(Batches, ADrawInTheMiddleOfAPromptIsSeen) {
  tokens_.pop_back();
  EXPECT_NE(Wrong().find("samples at a wrong place"), std::string::npos);
}

TEST_F(Batches, WhoDecodesAndIsLeftOutIsSeen) {
  Client& other = stage_.clients.emplace_back();
  other.id = RequestId{2};
  other.submitted = other.running = true;
  EXPECT_NE(Wrong().find("decodes, and got 0 tokens"), std::string::npos);
}

TEST(World, TheSameSeedDoesTheSame) {
  const auto words = [](std::uint64_t seed) {
    World world(seed, MakeScenario(seed));
    world.Run();
    return world.stage().counts.Words();
  };
  EXPECT_EQ(words(3), words(3));
  EXPECT_NE(words(3), words(4));
}

}  // namespace
}  // namespace banyan::sim
