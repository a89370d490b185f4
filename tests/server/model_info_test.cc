// What `banyan model info` prints, for people and as JSON.
#include "server/model_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace banyan::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ModelReport Report() {
  ModelReport report;
  report.path = "/models/m.gguf";
  report.file_bytes = 5'000'000'000;
  report.facts = {.name = "A model",
                  .architecture = "llama",
                  .vocabulary_size = 32000,
                  .context_length = 4096,
                  .layers = 32,
                  .heads = 32,
                  .kv_heads = 8,
                  .head_dim = 128,
                  .parameters = 6'738'415'616,
                  .weight_bytes = 4'999'999'488,
                  .kv_bytes_per_token = 131'072};
  report.types = {{"Q4_K", 193, 4'999'999'000}, {"F32", 1, 488}};
  report.tokenizer = TokenizerFacts{.kind = "BPE (smollm)",
                                    .tokens = 31999,
                                    .added = {{1, "<s>"}},
                                    .ends = {{2, "</s>"}, {7, "x"}}};
  report.chat_template = TemplateFacts{.source = "from the file",
                                       .bytes = 1234,
                                       .names_tools = true,
                                       .reasoning = text::ReasoningMarks{"<think>", "</think>"}};
  return report;
}

TEST(ModelInfo, IsATable) {
  EXPECT_EQ(
      ReportAsText(Report()),
      "model           A model\n"
      "file            /models/m.gguf, 4.7 GiB\n"
      "runs            yes\n"
      "architecture    llama\n"
      "parameters      6,738,415,616\n"
      "layers          32\n"
      "heads           32 of size 128; keys and values have 8\n"
      "context         4,096 tokens\n"
      "vocabulary      32,000 rows\n"
      "tensors         Q4_K     4.7 GiB in 193 tensors\n"
      "                F32      488 bytes in 1 tensor\n"
      "memory          about 4.7 GiB for the weights, and what --kv-memory says for the KV pool\n"
      "KV pool         f16      131,072 bytes a token; 1 GiB holds 8,192 tokens\n"
      "                bf16     131,072 bytes a token; 1 GiB holds 8,192 tokens\n"
      "                fp8      65,536 bytes a token; 1 GiB holds 16,384 tokens\n"
      "                int8     66,560 bytes a token; 1 GiB holds 16,128 tokens\n"
      "                int4     40,960 bytes a token; 1 GiB holds 22,928 tokens\n"
      "tokenizer       BPE (smollm), 31,999 tokens\n"
      "added tokens    '<s>' (1)\n"
      "end tokens      '</s>' (2), 'x' (7)\n"
      "chat template   from the file, 1,234 bytes, names tools\n"
      "reasoning       '<think>' ... '</think>'\n");
}

TEST(ModelInfo, AFormatThatDoesNotHaveSuchHeadsIsLeftOut) {
  ModelReport report = Report();
  report.facts.head_dim = 80;
  EXPECT_THAT(ReportAsText(report), AllOf(HasSubstr(" int8 "), Not(HasSubstr("int4"))));
  EXPECT_EQ(KvBytesPerToken(report.facts, kernels::KvFormat::kInt4), 0);
}

TEST(ModelInfo, WhatIsNotKnownIsSaid) {
  ModelReport report;
  report.path = "m.gguf";
  report.file_bytes = 24;
  report.parts = 3;
  report.problems = {"first reason", "second reason"};
  EXPECT_EQ(
      ReportAsText(report),
      "model           unknown\n"
      "file            m.gguf, 24 bytes in 3 parts\n"
      "runs            no:\n"
      "                - first reason\n"
      "                - second reason\n"
      "architecture    unknown\n"
      "parameters      unknown\n"
      "layers          unknown\n"
      "heads           unknown of size unknown; keys and values have unknown\n"
      "context         unknown tokens\n"
      "vocabulary      unknown rows\n"
      "tensors         none\n"
      "memory          about 0 bytes for the weights, and what --kv-memory says for the KV pool\n"
      "KV pool         unknown\n");
}

TEST(ModelInfo, TokensOfAPoolAreWholePages) {
  EXPECT_EQ(TokensIn(1 << 30, 0), 0);
  EXPECT_EQ(TokensIn(1599, 100), 0);
  EXPECT_EQ(TokensIn(1600, 100), 16);
  EXPECT_EQ(TokensIn(3199, 100), 16);
  // Open pages of 64 requests, and pages of 16 tokens.
  constexpr std::int64_t kOpen = std::int64_t{64} * 16 * 131'072;
  const model::Facts facts = Report().facts;
  EXPECT_EQ(TokensIn(kOpen + 2 * 16 * 40'960, facts, kernels::KvFormat::kInt4), 32);
  EXPECT_EQ(TokensIn(kOpen + 2 * 16 * 40'960 - 1, facts, kernels::KvFormat::kInt4), 16);
  EXPECT_EQ(TokensIn(kOpen - 1, facts, kernels::KvFormat::kInt4), 0);
  EXPECT_EQ(TokensIn(2 * 16 * 66'560, facts, kernels::KvFormat::kInt8), 32);
}

// A file's words may not write to the terminal of who looks at it, nor break the JSON.
TEST(ModelInfo, ForeignWordsAreHarmless) {
  ModelReport report = Report();
  report.facts.name = "red \x1b[31m\nname \xFF";
  report.facts.architecture = "na\u00efve";
  report.tokenizer->ends = {{0, "\x07\n"}};
  const std::string table = ReportAsText(report);
  EXPECT_THAT(table, HasSubstr("'red \\033[31m\\nname \\377'\n"));
  EXPECT_THAT(table, HasSubstr("architecture    na\u00efve\n"));
  EXPECT_THAT(table, HasSubstr("'\\007\\n' (0)"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  const auto json = boost::json::parse(ReportAsJson(report));
  EXPECT_EQ(json.at("name").as_string(), "red \x1b[31m\nname \uFFFD");
}

TEST(ModelInfo, JsonHasEveryFact) {
  const char* const want = R"json({
    "file": "/models/m.gguf", "file_bytes": 5000000000, "parts": 1, "runs": true, "problems": [],
    "name": "A model", "architecture": "llama", "parameters": 6738415616, "layers": 32,
    "heads": 32, "kv_heads": 8, "head_dim": 128, "context_length": 4096,
    "vocabulary_size": 32000,
    "tensor_types": [{"type": "Q4_K", "tensors": 193, "bytes": 4999999000},
                     {"type": "F32", "tensors": 1, "bytes": 488}],
    "weight_bytes": 4999999488, "kv_bytes_per_token": 131072, "kv_tokens_per_gib": 8192,
    "kv_dtypes": {"f16": {"bytes_per_token": 131072, "tokens_per_gib": 8192},
                  "bf16": {"bytes_per_token": 131072, "tokens_per_gib": 8192},
                  "fp8": {"bytes_per_token": 65536, "tokens_per_gib": 16384},
                  "int8": {"bytes_per_token": 66560, "tokens_per_gib": 16128},
                  "int4": {"bytes_per_token": 40960, "tokens_per_gib": 22928}},
    "tokenizer": {"kind": "BPE (smollm)", "tokens": 31999,
                  "added_tokens": [{"id": 1, "piece": "<s>"}],
                  "end_tokens": [{"id": 2, "piece": "</s>"}, {"id": 7, "piece": "x"}]},
    "chat_template": {"source": "from the file", "bytes": 1234, "names_tools": true,
                      "reasoning": {"begin": "<think>", "end": "</think>"}}})json";
  EXPECT_EQ(boost::json::parse(ReportAsJson(Report())), boost::json::parse(want));
  ModelReport broken = Report();
  broken.problems = {"why"};
  broken.tokenizer.reset();
  broken.chat_template->reasoning.reset();
  const auto other = boost::json::parse(ReportAsJson(broken));
  EXPECT_EQ(other.at("runs"), false);
  EXPECT_EQ(other.at("problems"), boost::json::parse(R"(["why"])"));
  EXPECT_TRUE(other.at("tokenizer").is_null());
  EXPECT_TRUE(other.at("chat_template").at("reasoning").is_null());
}

}  // namespace
}  // namespace banyan::server
