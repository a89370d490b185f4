#include <gtest/gtest.h>

#include <cmath>

#include "loadtest/client/target.h"

namespace banyan::loadtest {
namespace {

TEST(ParseMetrics, BanyanAndVllmSpeakTheSameNames) {
  const ServerSample sample = ParseMetrics(
      "# HELP vllm:num_requests_running Running.\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running 3\n"
      "vllm:num_requests_waiting{model_name=\"m\"} 2\n"
      "vllm:kv_cache_usage_perc 0.25\n"
      "banyan_kv_usage_ratio 0.25\n"
      "vllm:prefix_cache_queries_total 1000 1700000000000\n"
      "vllm:prefix_cache_hits_total 6e2\r\n");
  EXPECT_EQ(sample.running, 3);
  EXPECT_EQ(sample.waiting, 2);
  EXPECT_EQ(sample.pool_use, 0.25);
  EXPECT_EQ(sample.prefix_queries, 1000);
  EXPECT_EQ(sample.prefix_hits, 600);
}

TEST(ParseMetrics, EnginesAddUpAndTheirPoolsAreAMean) {
  const ServerSample sample = ParseMetrics(
      "vllm:num_requests_running{engine=\"0\",model_name=\"a } b \\\" c\"} 3\n"
      "vllm:num_requests_running{engine=\"1\"} 4\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 0.4");
  EXPECT_EQ(sample.running, 7);
  EXPECT_DOUBLE_EQ(sample.pool_use, 0.3);
}

TEST(ParseMetrics, SglangAndLlamaCppHaveNamesOfTheirOwn) {
  const ServerSample sglang = ParseMetrics(
      "sglang:num_running_reqs 5\nsglang:num_queue_reqs 6\nsglang:token_usage 0.5\n"
      "sglang:prompt_tokens_total 70\nsglang:cached_tokens_total 20\n");
  EXPECT_EQ(sglang.running, 5);
  EXPECT_EQ(sglang.waiting, 6);
  EXPECT_EQ(sglang.pool_use, 0.5);
  EXPECT_EQ(sglang.prefix_queries, 70);
  EXPECT_EQ(sglang.prefix_hits, 20);
  const ServerSample llama =
      ParseMetrics("llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n");
  EXPECT_EQ(llama.running, 1);
  EXPECT_EQ(llama.waiting, 2);
}

TEST(ParseMetrics, WhatIsNotSaidIsNoNumber) {
  const ServerSample sample = ParseMetrics(
      "vllm:num_requests_running\nvllm:num_requests_waiting nan\n{} 4\n 5\n"
      "vllm:kv_cache_usage_perc{x=\"unfinished 0.5\nvllm:prefix_cache_hits_total x\n\n");
  EXPECT_TRUE(std::isnan(sample.running));
  EXPECT_TRUE(std::isnan(sample.waiting));
  EXPECT_TRUE(std::isnan(sample.pool_use));
  EXPECT_TRUE(std::isnan(sample.prefix_queries));
  EXPECT_TRUE(std::isnan(sample.prefix_hits));
  EXPECT_TRUE(std::isnan(ParseMetrics("").running));
}

}  // namespace
}  // namespace banyan::loadtest
