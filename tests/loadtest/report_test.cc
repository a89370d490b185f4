// The table, the JSON and the way back from it, the CSV, and files.
#include "loadtest/report/report.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/utf8.h"
#include "loadtest/report/format.h"
#include "tests/loadtest/synthetic.h"

namespace banyan::loadtest {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string TableOf(const Report& report) {
  return Table(report.result, Summarize(report.result, report.slo));
}

TEST(Format, NumbersAreShortAndNeverLookMoreExactThanTheyAre) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatNumber(0), "0.00");
  EXPECT_EQ(FormatNumber(0.1234), "0.123");
  EXPECT_EQ(FormatNumber(1.234), "1.23");
  EXPECT_EQ(FormatNumber(9.996), "10.0");
  EXPECT_EQ(FormatNumber(99.96), "100");
  EXPECT_EQ(FormatNumber(4310.4), "4,310");
  EXPECT_EQ(FormatNumber(std::nan("")), "-");
  EXPECT_EQ(FormatShare(0.6421), "64.2%");
}

TEST(Format, TimesChangeToSecondsAtOne) {
  EXPECT_EQ(FormatTime(Tick(0)), "0 ms");
  EXPECT_EQ(FormatTime(std::chrono::microseconds(123)), "0.123 ms");
  EXPECT_EQ(FormatTime(std::chrono::milliseconds(999)), "999 ms");
  EXPECT_EQ(FormatTime(std::chrono::milliseconds(1000)), "1.00 s");
  EXPECT_EQ(FormatTime(std::chrono::seconds(4310)), "4,310 s");
}

TEST(Table, FitsATerminalWhateverItIsTold) {
  Report report = Synthetic({});
  report.result.facts.emplace_back("note", std::string(300, 'x') + " " + std::string(99, 'y'));
  report.result.interrupted = true;
  report.result.client.cpu_share = 2;
  for (Record& record : report.result.records) record.turn = record.turn * 1000;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(TableOf(report), '\n'))) {
    EXPECT_LE(CountCharacters(line), 100) << line;
  }
}

TEST(Table, TextOfOthersDoesNotMoveTheCursor) {
  Report report;
  report.result.facts.emplace_back("model", "a\x1b[2J\rb\nc");
  EXPECT_THAT(TableOf(report), HasSubstr("a [2J b c\n"));
}

TEST(Table, SaysWhatFailedAndWhatToDoubt) {
  Report report = Synthetic({});
  EXPECT_THAT(TableOf(report), HasSubstr("timeout"));
  EXPECT_THAT(TableOf(report), HasSubstr("answers/s within ttft=500ms,itl=50ms"));
  EXPECT_THAT(TableOf(report), Not(HasSubstr("WARNING")));
  report.result.client.cpu_share = 0.95;
  EXPECT_THAT(TableOf(report), HasSubstr("WARNING             The client was a bottleneck"));
  EXPECT_THAT(TableOf(Report()), HasSubstr("No request was scheduled after the warm-up"));
  Report silent;
  silent.result.records.resize(1);
  silent.result.records[0].outcome = Outcome::kTimeout;
  EXPECT_THAT(TableOf(silent), HasSubstr("No request was answered"));
}

void ExpectSame(const Record& a, const Record& b) {
  EXPECT_EQ(a.conversation, b.conversation);
  EXPECT_EQ(a.turn, b.turn);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.scheduled, b.scheduled);
  EXPECT_EQ(a.sent, b.sent);
  EXPECT_EQ(a.first_content, b.first_content);
  EXPECT_EQ(a.last_content, b.last_content);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.client_delay, b.client_delay);
  EXPECT_EQ(a.content_events, b.content_events);
  EXPECT_EQ(a.wanted_prompt_tokens, b.wanted_prompt_tokens);
  EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
  EXPECT_EQ(a.cached_tokens, b.cached_tokens);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
}

void ExpectSame(const Result& a, const Result& b) {
  EXPECT_EQ(a.facts, b.facts);
  EXPECT_EQ(a.warm_up, b.warm_up);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.interrupted, b.interrupted);
  EXPECT_EQ(a.inter_token, b.inter_token);
  EXPECT_EQ(a.client.lag, b.client.lag);
  EXPECT_DOUBLE_EQ(a.client.cpu_share, b.client.cpu_share);
  ASSERT_EQ(a.timeline.size(), b.timeline.size());
  for (std::size_t i = 0; i < a.timeline.size(); ++i) {
    EXPECT_EQ(a.timeline[i].sent, b.timeline[i].sent);
    EXPECT_EQ(a.timeline[i].finished, b.timeline[i].finished);
    EXPECT_EQ(a.timeline[i].failed, b.timeline[i].failed);
    EXPECT_EQ(a.timeline[i].tokens, b.timeline[i].tokens);
    EXPECT_EQ(a.timeline[i].in_flight, b.timeline[i].in_flight);
  }
  ASSERT_EQ(a.server.size(), b.server.size());
  for (std::size_t i = 0; i < a.server.size(); ++i) {
    EXPECT_EQ(a.server[i].at, b.server[i].at);
    EXPECT_DOUBLE_EQ(a.server[i].pool_use, b.server[i].pool_use);
    EXPECT_EQ(a.server[i].running, b.server[i].running);
    EXPECT_TRUE(std::isnan(b.server[i].prefix_queries));
  }
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) ExpectSame(a.records[i], b.records[i]);
}

TEST(Json, ComesBackAsItWas) {
  for (const bool tells_usage : {true, false}) {
    SyntheticOptions options;
    options.tells_usage = tells_usage;
    Report report = Synthetic(options);
    report.result.interrupted = !tells_usage;
    report.result.records.front().error = "a \"quoted\" \\ line\n\t\x01 and \u00e9";
    const auto back = ParseReport(Json(report));
    ASSERT_TRUE(back.ok()) << back.status();
    ExpectSame(report.result, back->result);
    EXPECT_EQ(back->slo, report.slo);
  }
}

TEST(Json, OfNothingComesBackToo) {
  const auto back = ParseReport(Json(Report()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->result.records, IsEmpty());
  EXPECT_FALSE(back->slo.any());
}

TEST(Json, BrokenBytesOfAServerMakeNoBrokenReport) {
  Report report = Synthetic({});
  report.result.records.front().error =
      "a\xff"
      "b";
  const auto back = ParseReport(Json(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->result.records.front().error, "a\uFFFDb");
}

std::string Why(std::string_view json) {
  const auto report = ParseReport(json);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(report.status().message());
}

TEST(ParseReport, SaysWhereAFileThatWasCutEnds) {
  SyntheticOptions options;
  options.conversations = 2;
  options.failing = 0;
  const std::string json = Json(Synthetic(options));
  ASSERT_TRUE(ParseReport(json).ok());
  // The line's end after the last brace can be missing.
  for (std::size_t size = 0; size + 1 < json.size(); size += 1 + json.size() / 200) {
    EXPECT_THAT(Why(std::string_view(json).substr(0, size)), StartsWith("not JSON: ")) << size;
  }
  EXPECT_THAT(Why(json + "{}"), StartsWith("not JSON: "));
}

// A whole report in which one thing is replaced by another.
std::string With(const char* from, const char* to) {
  SyntheticOptions options;
  options.conversations = 1;
  options.failing = 0;
  const std::string json = Json(Synthetic(options));
  EXPECT_THAT(json, HasSubstr(from));
  return absl::StrReplaceAll(json, {{from, to}});
}

TEST(ParseReport, SaysWhatIsWrong) {
  EXPECT_THAT(Why("[]"), HasSubstr("the report is not an object"));
  EXPECT_THAT(Why("{}"), HasSubstr("is of the schema ''"));
  EXPECT_THAT(Why(With("loadtest-run/1", "loadtest-run/2")), HasSubstr("'banyan-loadtest-run/2'"));
  EXPECT_THAT(Why(With("\"turn\":1,\"outcome\"", "\"turn\":0,\"outcome\"")),
              HasSubstr("requests[0] wants an integer \"turn\" from 1"));
  EXPECT_THAT(Why(With("\"outcome\":\"ok\"", "\"outcome\":\"fine\"")), HasSubstr("'fine'"));
  EXPECT_THAT(Why(With("\"first_content_ns\"", "\"first\"")),
              HasSubstr("is ok without \"first_content_ns\""));
  EXPECT_THAT(Why(With("\"sent_ns\":", "\"sent_ns\":1e3,\"x\":")), HasSubstr("\"sent_ns\""));
  EXPECT_THAT(Why(With("\"sent_ns\":", "\"sent_ns\":-1,\"x\":")), HasSubstr("from 0 to"));
  EXPECT_THAT(Why(With("\"end_ns\":", "\"end_ns\":9223372036854775807,\"x\":")),
              HasSubstr("\"end_ns\""));
  EXPECT_THAT(Why(With("\"output_tokens\":", "\"output_tokens\":99999999999999999999,\"x\":")),
              HasSubstr("\"output_tokens\""));
  EXPECT_THAT(Why(With("\"status\":", "\"status\":1000,\"x\":")), HasSubstr("\"status\""));
  EXPECT_THAT(Why(With("\"lag_ns\":", "\"lag\":")), HasSubstr("the report.client.lag_ns"));
  EXPECT_THAT(Why(With("\"buckets\":[", "\"buckets\":[[5],")), HasSubstr("[value, count]"));
  EXPECT_THAT(Why(With("\"buckets\":[", "\"buckets\":[[5,-1],")), HasSubstr("not a histogram"));
  EXPECT_THAT(Why(With("\"interrupted\": false", "\"interrupted\": 0")),
              HasSubstr("true or false"));
  EXPECT_THAT(Why(With("\"model\":", "\"model\":7,\"x\":")), HasSubstr("facts"));
  EXPECT_THAT(Why(With("\"pool_use\":", "\"pool_use\":\"x\",\"y\":")), HasSubstr("\"pool_use\""));
  EXPECT_THAT(Why(std::string(100, '[')), HasSubstr("not JSON"));
}

TEST(ParseReport, LeavesAloneWhatItDoesNotKnow) {
  EXPECT_TRUE(ParseReport(With("\"facts\":", "\"later\": {\"a\": []}, \"facts\":")).ok());
}

TEST(Csv, HasALineForEachRequestAndQuotesWhatNeedsIt) {
  Result result;
  result.warm_up = std::chrono::seconds(1);
  Record ok;
  ok.scheduled = std::chrono::seconds(1);
  ok.sent = ok.scheduled + Tick(1500);
  ok.first_content = ok.sent + Tick(2'000'000);
  ok.last_content = ok.end = *ok.first_content + Tick(1'000'000);
  ok.status = 200;
  ok.content_events = ok.output_tokens = 3;
  ok.finish_reason = "stop";
  Record failed;
  failed.turn = 2;
  failed.outcome = Outcome::kRefused;
  failed.end = Tick(5);
  failed.error = "no, \"really\"\nno";
  result.records = {ok, failed};
  const std::string csv = Csv(result);
  EXPECT_THAT(csv, StartsWith("conversation,turn,warm_up,outcome,status,scheduled_ms,"));
  EXPECT_THAT(csv, HasSubstr("\r\n0,1,0,ok,200,1000.000000,1000.001500,1002.001500,1003.001500,"
                             "1003.001500,0.000000,2.000000,2.001500,0.500000,3.000000,"
                             "3,,,,3,stop,\r\n"));
  EXPECT_THAT(csv, EndsWith("\r\n0,2,1,refused,,0.000000,,,,0.000005,0.000000,,,,,0,,,,,,"
                            "\"no, \"\"really\"\"\nno\"\r\n"));
}

class FileTest : public testing::Test {
 protected:
  FileTest() {
    folder_ = testing::TempDir() + absl::StrCat("loadtest_files_", ::getpid());
    std::filesystem::create_directory(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t Files() const {
    const auto all = std::filesystem::directory_iterator(folder_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  std::string folder_;
};

TEST_F(FileTest, IsWrittenAndReplacedWhole) {
  EXPECT_TRUE(WriteFile(Path("a"), "one").ok());
  EXPECT_EQ(Read(Path("a")), "one");
  EXPECT_TRUE(WriteFile(Path("a"), "two!").ok());
  EXPECT_EQ(Read(Path("a")), "two!");
  EXPECT_EQ(Files(), 1);
}

TEST_F(FileTest, ALinkStaysALink) {
  ASSERT_TRUE(WriteFile(Path("a"), "one").ok());
  std::filesystem::create_symlink("a", Path("link"));
  EXPECT_TRUE(WriteFile(Path("link"), "two").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(Read(Path("a")), "two");
}

TEST_F(FileTest, AFolderThatIsMissingOrInTheWayIsSaid) {
  const absl::Status missing = WriteFile(Path("no/a"), "x");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(Path("no/a")));
  EXPECT_FALSE(WriteFile(folder_, "x").ok());
  EXPECT_EQ(Files(), 0);
}

TEST_F(FileTest, AFullDeviceIsSaidAndStaysADevice) {
  const absl::Status full = WriteFile("/dev/full", "x");
  EXPECT_THAT(std::string(full.message()), HasSubstr("No space left"));
  struct stat found;
  ASSERT_EQ(::stat("/dev/full", &found), 0);
  EXPECT_TRUE(S_ISCHR(found.st_mode));
  EXPECT_TRUE(WriteFile("/dev/null", "x").ok());
}

TEST_F(FileTest, WhenTheDiskIsFullTheFileBeforeStaysAndNothingElse) {
  ASSERT_TRUE(WriteFile(Path("a"), "before").ok());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFile(Path("a"), std::string(1001, 'x'));
  const absl::Status fits = WriteFile(Path("b"), std::string(1000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(fits.ok()) << fits;
  EXPECT_EQ(Read(Path("a")), "before");
  EXPECT_EQ(Files(), 2);
}

}  // namespace
}  // namespace banyan::loadtest
