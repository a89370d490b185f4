#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "server/logging.h"
#include "server/preemption_log.h"
#include "server/request_record.h"
#include "server/retry_after.h"
#include "server/telemetry.h"

namespace banyan::server {
namespace {

// As HasSubstr, but a failure does not print all metrics.
::testing::AssertionResult Shows(const std::string& text, const std::string& line) {
  if (text.find(line) != std::string::npos) return ::testing::AssertionSuccess();
  const std::string name = line.substr(0, line.find_first_of(" {"));
  const std::size_t there = text.find(name);
  return ::testing::AssertionFailure()
         << "not there: " << line
         << "\nbut: " << (there == std::string::npos ? "nothing like it" : text.substr(there, 300));
}

TEST(Metrics, AreExposedUnderBothNames) {
  Metrics metrics("smol \"2\"");
  metrics.Add(Counter::kPromptTokens, 12);
  metrics.Set(Gauge::kWaiting, 3);
  metrics.Observe(Histogram::kTimeToFirstToken, 0.3);
  metrics.SetCacheShape(16, 512, "int8");
  const std::string text = metrics.Text();
  EXPECT_TRUE(Shows(text, "\nbanyan_prompt_tokens_total 12\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:prompt_tokens_total{model_name=\"smol \\\"2\\\"\"} 12\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_waiting_requests 3\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:num_requests_waiting{model_name=\"smol \\\"2\\\"\"} 3\n"));
  EXPECT_TRUE(Shows(text, "banyan_time_to_first_token_seconds_bucket{le=\"0.25\"} 0\n"));
  EXPECT_TRUE(Shows(text, "banyan_time_to_first_token_seconds_bucket{le=\"0.5\"} 1\n"));
  EXPECT_TRUE(Shows(text, "vllm:time_to_first_token_seconds_count{model_name="));
  EXPECT_TRUE(Shows(text, "block_size=\"16\""));
  EXPECT_TRUE(Shows(text, "num_gpu_blocks=\"512\""));
  EXPECT_TRUE(Shows(text, "cache_dtype=\"int8\""));
}

TEST(Metrics, ShowWhatGatewaysReadFromTheStart) {
  const std::string text = Metrics("m").Text();
  for (const char* name :
       {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
        "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
        "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
        "vllm:time_to_first_token_seconds_bucket", "vllm:inter_token_latency_seconds_bucket",
        "vllm:e2e_request_latency_seconds_bucket",
        "vllm:request_success_total{finished_reason=\"stop\",model_name=\"m\"}"}) {
    EXPECT_TRUE(Shows(text, name));
  }
}

TEST(Metrics, AreLinesOfANameAndANumberAndEachFamilyIsThereOnce) {
  std::istringstream text(Metrics("m").Text());
  std::set<std::string> typed;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(typed.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
    }
    if (line.starts_with("#")) continue;
    const std::size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string::npos) << line;
    char* end = nullptr;
    std::strtod(line.c_str() + space + 1, &end);
    EXPECT_EQ(*end, '\0') << line;
    EXPECT_TRUE(line.starts_with("banyan_") || line.starts_with("vllm:")) << line;
  }
  EXPECT_GT(typed.size(), 30U);
}

TEST(Telemetry, CountsHitAndMissTokensOncePerRequest) {
  Metrics metrics("m");
  Telemetry telemetry(metrics);
  scheduler::Request request;
  request.prompt.assign(10, 1);
  telemetry.OnAdmitted(request, {.prompt_tokens = 10, .cached_tokens = 0});
  telemetry.OnAdmitted(request, {.prompt_tokens = 10, .cached_tokens = 9});
  const std::string text = metrics.Text();
  EXPECT_TRUE(Shows(text, "\nbanyan_prompt_tokens_total 20\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_cached_prompt_tokens_total 9\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_missed_prompt_tokens_total 11\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:prefix_cache_queries_total{model_name=\"m\"} 20\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:prefix_cache_hits_total{model_name=\"m\"} 9\n"));
}

TEST(Telemetry, TurnsTotalsSinceStartIntoCounters) {
  Metrics metrics("m");
  Telemetry telemetry(metrics);
  scheduler::Stats scheduler;
  radix::Stats cache;
  scheduler.steps = 5;
  scheduler.waiting = 4;
  scheduler.following = 3;
  scheduler.preemptions = 2;
  scheduler.recomputed_tokens = 40;
  scheduler.passes = 6;
  cache.namespaces = 9;
  cache.evicted_pages = 2;
  cache.pages[static_cast<int>(radix::PageState::kFree)] = 6;
  cache.pages[static_cast<int>(radix::PageState::kTree)] = 2;
  cache.pages[static_cast<int>(radix::PageState::kOpen)] = 2;
  cache.evictable = 1;
  telemetry.Publish(scheduler, cache, Tick(0));
  scheduler.steps = 7;
  scheduler.preemptions = 3;
  telemetry.Publish(scheduler, cache, Tick(1));
  telemetry.Publish(scheduler, cache, Tick(2));
  const std::string text = metrics.Text();
  EXPECT_TRUE(Shows(text, "\nbanyan_steps_total 7\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_kv_evicted_pages_total 2\n"));
  EXPECT_TRUE(Shows(text, "banyan_kv_pages{state=\"free\"} 6\n"));
  EXPECT_TRUE(Shows(text, "banyan_kv_pages{state=\"open\"} 2\n"));
  EXPECT_TRUE(Shows(text, "banyan_kv_pages{state=\"tree\"} 2\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_waiting_requests 4\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:num_requests_waiting{model_name=\"m\"} 4\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_following_requests 3\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_preemptions_total 3\n"));
  EXPECT_TRUE(Shows(text, "\nvllm:num_preemptions_total{model_name=\"m\"} 3\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_recomputed_tokens_total 40\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_passed_over_total 6\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_namespaces 9\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_kv_usage_ratio 0.3"));
}

TEST(PreemptionLog, SumsUpAndSpeaksOnceASecond) {
  using namespace std::chrono_literals;
  PreemptionLog log;
  EXPECT_FALSE(log.Take(Tick(0)));
  log.Add(5);
  const auto first = log.Take(Tick(0));
  ASSERT_TRUE(first) << "the first one at once";
  EXPECT_EQ(first->requests, 1);
  EXPECT_EQ(first->output_tokens, 5);
  log.Add(1);
  log.Add(0);
  EXPECT_FALSE(log.Take(999ms));
  const auto second = log.Take(1s);
  ASSERT_TRUE(second) << "what was held back is told";
  EXPECT_EQ(second->requests, 2);
  EXPECT_EQ(second->output_tokens, 1);
  EXPECT_FALSE(log.Take(5s)) << "each is told once";
}

TEST(RequestRecord, IsAccountedByItsEnd) {
  Metrics metrics("m");
  RetryAfter retry_after;
  scheduler::Usage usage;
  usage.output_tokens = 5;
  Account({"a", scheduler::FinishReason::kStop, usage}, metrics, retry_after);
  Account({"b", scheduler::FinishReason::kCancelled, usage}, metrics, retry_after);
  const std::string text = metrics.Text();
  EXPECT_TRUE(Shows(text, "banyan_requests_total{finish_reason=\"stop\"} 1\n"));
  EXPECT_TRUE(Shows(text, "banyan_requests_total{finish_reason=\"cancelled\"} 1\n"));
  EXPECT_TRUE(Shows(text, "banyan_requests_total{finish_reason=\"length\"} 0\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_generated_tokens_total 10\n"));
  EXPECT_TRUE(Shows(text, "\nbanyan_end_to_end_seconds_count 1\n"))
      << "a cancelled answer is no measure of latency";
}

TEST(RequestRecord, KnowsWhenThePoolEndedAnAnswer) {
  using scheduler::FinishReason;
  using scheduler::LengthLimit;
  const auto ended = [](FinishReason reason, LengthLimit limit) {
    RequestRecord record{.id = "a", .reason = reason, .usage = {}};
    record.usage.limit = limit;
    return PoolEnded(record);
  };
  EXPECT_TRUE(ended(FinishReason::kLength, LengthLimit::kPool));
  EXPECT_FALSE(ended(FinishReason::kLength, LengthLimit::kMaxTokens));
  EXPECT_FALSE(ended(FinishReason::kLength, LengthLimit::kContext));
  EXPECT_FALSE(ended(FinishReason::kStop, LengthLimit::kPool)) << "it had ended anyway";
}

TEST(RetryAfter, IsBetweenOneSecondAndOneMinute) {
  RetryAfter retry_after;
  EXPECT_EQ(retry_after.Seconds(0, 1), 1);
  EXPECT_EQ(retry_after.Seconds(10, 2), 5) << "until it has learned, a request runs for a second";
  EXPECT_EQ(retry_after.Seconds(60, 1), 60);
  EXPECT_EQ(retry_after.Seconds(61, 1), 60);
  EXPECT_EQ(retry_after.Seconds(1'000'000, 1), 60);
  for (int i = 0; i < 200; ++i) retry_after.Observe(4);
  EXPECT_EQ(retry_after.Seconds(3, 1), 12);
}

TEST(Logging, TextQuotesWhatWouldBreakALine) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "step failed",
                          {{"step", 7},
                           {"reason", "out of\nmemory"},
                           {"id", "a-b_1"},
                           {"e", ""},
                           {"ms", 34986.25},
                           {"tiny", 0.03125}}),
            R"(step failed step=7 reason="out of\nmemory" id=a-b_1 e="" ms=34986.2 tiny=0.03125)");
}

TEST(Logging, JsonHasTheFieldsAsMembers) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "ready",
                          {{"pages", std::int64_t{5}}, {"ok", true}, {"model", "a\"b"}}),
            R"("event":"ready","pages":5,"ok":true,"model":"a\"b")");
}

}  // namespace
}  // namespace banyan::server
