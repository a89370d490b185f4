// What `banyan plan` prints, for people and as JSON.
#include "server/plan/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/plan/command.h"
#include "server/plan/wrap.h"
#include "tests/server/plan_configs.h"

namespace banyan::server {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PlanReport Report(const PlanOptions& options) {
  absl::StatusOr<PlanReport> report = MakePlanReport(options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : PlanReport();
}

PlanOptions OfConfig(const std::string& name) {
  PlanOptions options;
  options.source = ConfigPath(name);
  return options;
}

PlanOptions OfShape() {
  PlanOptions options;
  options.source = "2,2,8";
  options.shape =
      CacheShape{.layers = 2, .kv_heads = 2, .head_dim = 8, .latent = {}, .windows = {}};
  return options;
}

// The lines of the table whose second line of heading begins with "format" and has `heading`: that
// of f16.
std::string RowOfF16(const std::string& text, const std::string& heading) {
  bool in_table = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (line.rfind("format", 0) == 0) in_table = line.find(heading) != std::string::npos;
    if (in_table && line.rfind("f16 ", 0) == 0) return line;
  }
  return "";
}

TEST(PlanReport, TellsWhatIsPlannedFor) {
  PlanOptions options = OfConfig("llama-3-70b");
  options.memory = std::int64_t{192} << 30;
  options.workload.sessions = 32;
  options.workload.shared_prefix = 2048;
  const std::string text = PlanAsText(Report(options));
  EXPECT_THAT(text, HasSubstr("attention       80 layers, 64 query heads, 8 KV heads of size 128: "
                              "GQA\n"));
  EXPECT_THAT(text, HasSubstr("weights         about 131.4 GiB: 70,553,706,496 parameters in "
                              "bfloat16, estimated from the sizes\n"));
  EXPECT_THAT(text, HasSubstr("workload        32 sessions of 8,192 tokens, the model's context, "
                              "of which the first 2,048 are the"));
  EXPECT_THAT(text, HasSubstr("pages           16 tokens each; a session takes 512, 128 of them "
                              "shared\n"));
  EXPECT_THAT(text, HasSubstr("KV pool         60.6 GiB, what the weights leave of 192.0 GiB\n"));
}

TEST(PlanReport, HasATableForEachQuestion) {
  PlanOptions options = OfConfig("llama-3-70b");
  std::string text = PlanAsText(Report(options));
  EXPECT_EQ(RowOfF16(text, "a token"),
            "f16      327,680   5,242,880             0   2,684,354,560   2,684,354,560");
  EXPECT_EQ(RowOfF16(text, "in the pool"), "") << "no memory was told";
  EXPECT_EQ(RowOfF16(text, "--kv-memory"), "") << "no number of sessions was told";
  options.workload.kv_memory = std::int64_t{64} << 30;
  options.workload.sessions = 32;
  text = PlanAsText(Report(options));
  EXPECT_EQ(RowOfF16(text, "in the pool"), "f16           13,107       209,712              25");
  EXPECT_EQ(RowOfF16(text, "--kv-memory"), "f16                   80GiB   262,144");
  options.workload.shared_prefix = 2048;
  text = PlanAsText(Report(options));
  EXPECT_THAT(RowOfF16(text, "a token"), HasSubstr("   2,013,265,920"));
  EXPECT_THAT(RowOfF16(text, "in the pool"), HasSubstr("   25 "));
  EXPECT_THAT(RowOfF16(text, "in the pool"), testing::EndsWith("   33"));
  EXPECT_THAT(RowOfF16(text, "--kv-memory"), testing::EndsWith("   62080MiB   198,656"));
}

TEST(PlanReport, TellsWhatChoosingPagesTakes) {
  const auto text = [](const std::string& name) { return PlanAsText(Report(OfConfig(name))); };
  EXPECT_THAT(text("llama-3-8b"), HasSubstr("bounds          131,072 bytes more for each page "));
  EXPECT_THAT(text("gemma-3-1b"), Not(HasSubstr("bounds"))) << "layers with windows do not choose";
  EXPECT_THAT(text("deepseek-v3"), Not(HasSubstr("bounds")));
}

TEST(PlanReport, OfAShapeAloneIsShort) {
  const std::string text = PlanAsText(Report(OfShape()));
  EXPECT_THAT(text, HasSubstr("model           --shape 2,2,8\n"));
  EXPECT_THAT(text, Not(HasSubstr("weights")));
  EXPECT_THAT(text, Not(HasSubstr("workload")));
  EXPECT_EQ(RowOfF16(text, "a token"), "f16          128    2,048");
}

TEST(PlanReport, FitsATerminal) {
  PlanOptions options = OfConfig("llama-3.1-405b");
  options.memory = std::int64_t{1} << 50;
  options.workload.sessions = 1'000'000;
  options.workload.shared_prefix = 2001;
  options.detail = PlanDetail::kExplained;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(PlanAsText(Report(options)), '\n'))) {
    EXPECT_LE(line.size(), kTerminalColumns) << line;
    EXPECT_THAT(line, Not(testing::EndsWith(" ")));
  }
}

TEST(PlanReport, SaysWhereTheServerAllocatesMore) {
  PlanOptions options = OfConfig("gemma-3-1b");
  const std::string note = "keeps all positions of layers with a window";
  std::string text = PlanAsText(Report(options));
  EXPECT_THAT(text, HasSubstr("windows         512 tokens in 22 of 26 layers\n"));
  EXPECT_THAT(text, HasSubstr(note));
  EXPECT_EQ(RowOfF16(text, "formula"),
            "f16       26,624   425,984            0   145,752,064   872,415,232");
  options.workload.context = 512;
  EXPECT_THAT(PlanAsText(Report(options)), Not(HasSubstr(note))) << "the window hides nothing";
}

TEST(PlanReport, NotesWhatTheServerWouldRefuse) {
  const auto notes = [](const PlanOptions& options) {
    std::string all;
    for (const std::string& note : Report(options).notes) all += note + "\n";
    return all;
  };
  PlanOptions options = OfConfig("llama-3-8b");
  EXPECT_THAT(notes(options),
              AllOf(HasSubstr("the 64 requests that may run at once"), Not(HasSubstr("refuse"))));
  options.workload.context = 8193;
  EXPECT_THAT(notes(options), HasSubstr("over the model's own of 8,192 tokens"));
  options = OfConfig("llama-3-8b");
  options.workload.kv_memory = 2'000'000;
  EXPECT_THAT(notes(options), HasSubstr("in f16 a page takes 2,097,152 bytes, more than there"));
  options = OfConfig("llama-3-8b");
  options.workload.sessions = 4097;
  EXPECT_THAT(notes(options), HasSubstr("at most 4,096 requests at once"));
  options.workload.sessions = 20'000;
  EXPECT_THAT(notes(options), HasSubstr("no server has a pool as large as that in f16"));
  EXPECT_THAT(notes(OfConfig("deepseek-v3")), HasSubstr("no attention over latents"));
  EXPECT_THAT(notes(OfShape()), HasSubstr("int4 take heads of a multiple of 32 numbers"));
  options = OfShape();
  options.memory = 1 << 20;
  EXPECT_THAT(notes(options), HasSubstr("--weights"));
  options.memory = std::int64_t{17} << 40;
  EXPECT_THAT(notes(options), AllOf(HasSubstr("at most 16TiB"), HasSubstr("67,108,864 pages")));
  options = OfShape();
  options.workload.context = 100;
  options.workload.sessions = 2;
  EXPECT_THAT(notes(options), HasSubstr("64 more tokens of each session (4 pages)"));
}

TEST(PlanReport, ExplainsBothFiguresThatTextsGive) {
  const auto explained = [](const char* name) {
    PlanOptions options = OfConfig(name);
    options.detail = PlanDetail::kExplained;
    options.workload.sessions = 4;
    options.workload.shared_prefix = 100;
    options.workload.kv_memory = std::int64_t{1} << 40;
    std::string all;
    for (const std::string& paragraph : Report(options).explanation) all += paragraph + "\n";
    return all;
  };
  EXPECT_THAT(explained("llama-2-70b"),
              AllOf(HasSubstr("2,621,440 bytes in f16, 8 times the 327,680 of this model (GQA)"),
                    HasSubstr("(a key + a value) x 80 layers x 8 KV heads x 128 = 163,840 numbers"),
                    HasSubstr("int8 of 8.125 bits each 166,400 bytes")));
  EXPECT_THAT(explained("llama-3-8b"), HasSubstr("524,288 bytes in f16, 4 times the 131,072"));
  EXPECT_THAT(explained("llama-2-7b"), HasSubstr("each of the 32 query heads has a KV head"));
  EXPECT_THAT(explained("gemma-3-27b"), HasSubstr("52 of 62 layers see only their latest tokens"));
  EXPECT_THAT(explained("deepseek-v3"),
              AllOf(HasSubstr("61 layers x (a latent of 512 + a rotated key of 64) = 35,136"),
                    HasSubstr("4,997,120 bytes in f16, 71.11 times the 70,272")));
  EXPECT_THAT(explained("llama-3-8b"),
              AllOf(HasSubstr("8,192 tokens in pages of 16 are 512 pages"),
                    HasSubstr("6 whole pages are there once"), HasSubstr("6 + 4 x 506 = 2,030"),
                    HasSubstr("524,288 / 512 = 1,024 sessions; sharing (524,288 - 6) / 506")));
}

// What is in a file may not write to the terminal of who looks at it, nor break the JSON.
TEST(PlanReport, ForeignWordsAreHarmless) {
  PlanReport report = Report(OfShape());
  report.subject.name = "red \x1b[31m\nname \xFF";
  report.subject.architecture = std::string(1000, 'x');
  report.notes = {"a \x1b[31m note \xFF"};
  const std::string text = PlanAsText(report);
  EXPECT_THAT(text, AllOf(HasSubstr("'red \\033[31m\\nname \\377'"), Not(HasSubstr("\x1b"))));
  const json::value parsed = json::parse(PlanAsJson(report));
  EXPECT_EQ(parsed.at("model").at("name").as_string(), "red \x1b[31m\nname \uFFFD");
}

TEST(PlanReport, JsonHasEveryFigure) {
  PlanOptions options = OfConfig("llama-3-8b");
  options.source = ConfigPath("llama-3-8b");
  options.workload = {.page_size = 16,
                      .context = 100,
                      .sessions = 10,
                      .shared_prefix = 40,
                      .kv_memory = std::int64_t{1} << 30};
  PlanReport report = Report(options);
  report.source = "config.json";
  const json::value told = json::parse(PlanAsJson(report));
  EXPECT_EQ(told.at("model"), json::parse(R"({
    "source": "config.json", "name": "", "architecture": "llama", "attention": "GQA",
    "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128, "latent": null, "windows": [],
    "context_length": 8192, "parameters": 8030261248, "weight_bytes": 16060522496,
    "weights_from": "estimate"})"));
  EXPECT_EQ(told.at("bytes_per_token").at("f16"), 131'072);
  EXPECT_EQ(told.at("bytes_per_token").as_object().size(), kernels::kKvFormats.size());
  EXPECT_EQ(told.at("session_pages"),
            json::parse(R"({"all": 7, "shared": 2, "own": 5, "headroom": 4})"));
  EXPECT_EQ(told.at("formats").at("f16"), json::parse(R"({
    "bytes_per_token": 131072, "multi_head_bytes_per_token": 524288, "page_bytes": 2097152,
    "open_bytes": 0, "bounds_bytes": 131072,
    "session": {"formula_bytes": 13107200, "allocated_bytes": 14680064, "own_bytes": 10485760},
    "capacity": {"pages": 512, "bytes": 1073741824, "bounds_bytes": 67108864, "tokens": 8192,
                 "sessions": 73, "sharing_sessions": 102},
    "pool": {"pages": 70, "headroom_pages": 40, "kv_memory": 230686720, "tokens": 1760},
    "sharing_pool": {"pages": 52, "headroom_pages": 40, "kv_memory": 192937984,
                     "tokens": 1472}})"));
  const json::object& int4 = told.at("formats").at("int4").as_object();
  EXPECT_EQ(int4.at("open_bytes"), 64 * 2'097'152);
  EXPECT_EQ(int4.at("bounds_bytes"), 0);
  EXPECT_EQ(int4.at("capacity").at("pages"), ((1 << 30) - 64 * 2'097'152) / (16 * 40'960));
  EXPECT_EQ(int4.at("capacity").at("bytes"), 1433 * 16 * 40'960 + 64 * 2'097'152);
  EXPECT_EQ(int4.at("pool").at("kv_memory"), 110 * 16 * 40'960 + 64 * 2'097'152);
  EXPECT_EQ(told.at("max_running"), 64);
  EXPECT_EQ(told.at("context"), 100);
  EXPECT_EQ(told.at("sessions"), 10);
  EXPECT_EQ(told.at("shared_prefix"), 40);
  EXPECT_EQ(told.at("kv_memory"), 1 << 30);
  EXPECT_TRUE(told.at("memory").is_null());
  EXPECT_EQ(told.at("notes").as_array().size(), report.notes.size());
}

TEST(PlanReport, JsonHasNullForWhatIsNotKnown) {
  const json::value told = json::parse(PlanAsJson(Report(OfShape())));
  for (const char* name :
       {"heads", "latent", "context_length", "parameters", "weight_bytes", "weights_from"}) {
    EXPECT_TRUE(told.at("model").at(name).is_null()) << name;
  }
  for (const char* name : {"context", "sessions", "memory", "kv_memory", "session_pages"})
    EXPECT_TRUE(told.at(name).is_null()) << name;
  for (const char* name :
       {"session", "capacity", "pool", "sharing_pool", "multi_head_bytes_per_token"}) {
    EXPECT_TRUE(told.at("formats").at("f16").at(name).is_null()) << name;
  }
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("a", 3, "b c"), "a  b c\n");
  EXPECT_EQ(Wrapped("longer", 3, "b"), "longerb\n");
  EXPECT_EQ(Wrapped("a", 3, ""), "a  \n");
  const std::string word(48, 'x');
  EXPECT_EQ(Wrapped("a", 3, word + " " + word), "a  " + word + " " + word + "\n") << "100 bytes";
  EXPECT_EQ(Wrapped("a", 3, word + " " + word + "y"), "a  " + word + "\n   " + word + "y\n");
  const std::string wide(200, 'x');
  EXPECT_EQ(Wrapped("a", 3, wide + " b"), "a  " + wide + "\n   b\n");
}

}  // namespace
}  // namespace banyan::server
