// What all formats share: entries, bad lines, times, bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "loadtest/workload/entries.h"
#include "tests/loadtest/trace_text.h"

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Line(int milliseconds, int tokens = 1) {
  return absl::StrCat("{\"timestamp\":", milliseconds, ",\"input_length\":", tokens, "}\n");
}

std::vector<int> TokensOf(const Workload& workload) {
  std::vector<int> tokens;
  for (const Conversation& conversation : workload.conversations) {
    tokens.push_back(conversation.turns[0].messages[0].segments[0].tokens);
  }
  return tokens;
}

TEST(TraceFormat, HasANameOnTheCommandLine) {
  EXPECT_EQ(ParseTraceFormat("auto").value(), TraceFormat::kAuto);
  EXPECT_EQ(ParseTraceFormat("mooncake").value(), TraceFormat::kMooncake);
  EXPECT_EQ(ParseTraceFormat("bailian").value(), TraceFormat::kBailian);
  EXPECT_EQ(ParseTraceFormat("azure").value(), TraceFormat::kAzure);
  EXPECT_EQ(ParseTraceFormat("burstgpt").value(), TraceFormat::kBurstGpt);
  EXPECT_EQ(ParseTraceFormat("sharegpt").value(), TraceFormat::kShareGpt);
  EXPECT_EQ(ParseTraceFormat("wildchat").value(), TraceFormat::kWildChat);
  EXPECT_EQ(ParseTraceFormat("aiperf").value(), TraceFormat::kAiperf);
  EXPECT_THAT(std::string(ParseTraceFormat("csv").status().message()),
              HasSubstr("'csv': auto, mooncake, bailian, azure"));
}

TEST(Trace, BytesThatAreNoTraceAreRefusedWithTheirLine) {
  EXPECT_THAT(FaultOf(""), HasSubstr("trace: there is no request in it"));
  EXPECT_THAT(FaultOf("\n \r\n\t\n"), HasSubstr("there is no request in it"));
  EXPECT_THAT(FaultOf("\n\nhello\n"),
              HasSubstr("trace:3: the format cannot be told: neither JSON"));
  EXPECT_THAT(FaultOf("{\"x\":1}"), HasSubstr("an object of no known trace"));
  EXPECT_THAT(FaultOf("{\"input_length\":"), HasSubstr("the format cannot be told: not JSON"));
  EXPECT_THAT(FaultOf("[]"), HasSubstr("there is no request in it"));
  EXPECT_THAT(FaultOf("[1]"), HasSubstr("the format cannot be told"));
  EXPECT_THAT(FaultOf("{\"input_length\":1,\"input_length\":2}"),
              HasSubstr("a key is there twice"));
  EXPECT_THAT(FaultOf("{\"input_length\":1} {}"), HasSubstr("something follows the JSON object"));
  EXPECT_THAT(FaultOf("{\"text\":\"\xff\"}"), HasSubstr("not JSON"));
}

TEST(Trace, AByteOrderMarkCarriageReturnsAndEmptyLinesArePassedOver) {
  const auto workload = ReadText(absl::StrCat(
      "\xef\xbb\xbf\r\n{\"timestamp\":0,\"input_length\":1}\r\n\r\n  {\"timestamp\":1,",
      "\"input_length\":2}  \r\n\n"));
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(TokensOf(*workload), ElementsAre(1, 2));
  EXPECT_EQ(workload->conversations[1].id, "4");
}

TEST(Trace, ABadLineIsFatalOrSkippedAsAsked) {
  const std::string text =
      Line(0, 1) + "nonsense\n" + Line(1, 2) + "{\"timestamp\":2}\n" + Line(3, 3);
  EXPECT_THAT(FaultOf(text), HasSubstr("trace:2: not JSON"));
  const auto workload = ReadText(text, kSkipBadLines);
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(TokensOf(*workload), ElementsAre(1, 2, 3));
  ASSERT_THAT(workload->bad_lines, SizeIs(2));
  EXPECT_EQ(workload->bad_lines[0].line, 2);
  EXPECT_EQ(workload->bad_lines[1].line, 4);
  EXPECT_EQ(workload->bad_lines[1].why, "input_length is missing");
}

TEST(Trace, NothingButBadLinesIsNoTrace) {
  EXPECT_THAT(FaultOf("x\ny\n", {.format = TraceFormat::kMooncake,
                                 .bad_lines = TraceOptions::BadLines::kSkip}),
              HasSubstr("there is no request in it"));
}

TEST(Trace, TooManyBadLinesEndTheReading) {
  std::string text = Line(0);
  for (std::size_t i = 0; i < kMaxBadLines - 1; ++i) text += "x\n";
  EXPECT_THAT(ReadText(text, kSkipBadLines)->bad_lines, SizeIs(kMaxBadLines - 1));
  text += "x\n";
  EXPECT_THAT(ReadText(text, kSkipBadLines)->bad_lines, SizeIs(kMaxBadLines));
  text += "x\n";
  EXPECT_THAT(FaultOf(text, kSkipBadLines), HasSubstr("more than 10000 lines are malformed"));
}

TEST(Trace, UnsortedTimesAreSortedStably) {
  const auto workload = ReadText(Line(7, 1) + Line(5, 2) + Line(7, 3) + Line(5, 4) + Line(6, 5));
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(TokensOf(*workload), ElementsAre(2, 4, 5, 1, 3));
  EXPECT_EQ(workload->conversations[0].turns[0].at, Milliseconds(0));
  EXPECT_EQ(workload->conversations[4].turns[0].at, Milliseconds(2));
}

TEST(Trace, EitherAllRequestsHaveTimesOrNone) {
  EXPECT_THAT(FaultOf(Line(0) + "{\"input_length\":1}\n"),
              HasSubstr("trace:2: it has no time, which those before it have"));
  EXPECT_THAT(FaultOf("{\"input_length\":1}\n" + Line(0)),
              HasSubstr("trace:2: it has a time, which those before it have not"));
  EXPECT_THAT(FaultOf("{\"session_id\":\"a\",\"input_length\":1}\n"
                      "{\"session_id\":\"a\",\"input_length\":1,\"timestamp\":1}\n"),
              HasSubstr("which the session's first turn has not"));
  const std::string first = "{\"session_id\":\"a\",\"timestamp\":5,\"input_length\":1}\n";
  const std::string earlier = "{\"session_id\":\"a\",\"timestamp\":4,\"input_length\":1}\n";
  const std::string untimed = "{\"session_id\":\"a\",\"delay\":4,\"input_length\":1}\n";
  EXPECT_EQ(FaultOf(first + earlier), "");
  EXPECT_EQ(FaultOf(first + untimed + first), "");
  EXPECT_THAT(FaultOf(first + untimed + earlier), HasSubstr("trace:3: times of its session"));
  EXPECT_THAT(FaultOf(first + earlier + untimed), HasSubstr("trace:3: times of its session"));
}

TEST(Trace, ReadsTheFirstSoManyRequests) {
  const std::string text = Line(2, 1) + Line(1, 2) + Line(0, 3) + "nonsense\n";
  EXPECT_THAT(TokensOf(*ReadText(text, {.max_requests = 2})), ElementsAre(2, 1))
      << "the first of the file, then in order of time";
  EXPECT_THAT(TokensOf(*ReadText(text, {.max_requests = 3})), SizeIs(3))
      << "what comes after is not looked at";
  EXPECT_THAT(FaultOf(text, {.max_requests = 4}), HasSubstr("trace:4"));
  EXPECT_THAT(FaultOf(text, {.max_requests = -1}), HasSubstr("max_requests is negative"));
  const auto cut =
      ReadText(R"({"turns":[{"text":"a"},{"text":"b"},{"text":"c"}]})", {.max_requests = 2});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(CountTurns(*cut), 2);
}

TEST(Trace, ALineMayHaveSixteenMebibytes) {
  const auto line_of = [](std::size_t bytes) {
    const std::string head = "{\"timestamp\":0,\"input_length\":1,\"x\":\"", tail = "\"}";
    return head + std::string(bytes - head.size() - tail.size(), 'x') + tail;
  };
  constexpr std::size_t kMax = EntryReader::kMaxEntryBytes;
  EXPECT_EQ(FaultOf(Line(0) + line_of(kMax - 1)), "");
  EXPECT_EQ(FaultOf(Line(0) + line_of(kMax)), "");
  EXPECT_THAT(FaultOf(Line(0) + line_of(kMax + 1)), HasSubstr("trace:2: it is longer than 16 MiB"));
  const auto workload = ReadText(Line(0, 1) + line_of(kMax + 1) + "\n" + Line(1, 2), kSkipBadLines);
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(TokensOf(*workload), ElementsAre(1, 2));
  EXPECT_EQ(workload->bad_lines[0].line, 2);
}

TEST(Trace, JsonMayHaveThirtyTwoLevels) {
  const auto nested = [](int levels) {
    return absl::StrCat("{\"input_length\":1,\"x\":", std::string(levels - 1, '['),
                        std::string(levels - 1, ']'), "}");
  };
  EXPECT_EQ(FaultOf(nested(31)), "");
  EXPECT_EQ(FaultOf(nested(32)), "");
  EXPECT_THAT(FaultOf(nested(33)), HasSubstr("not JSON"));
}

std::vector<std::string> EntriesOf(std::string_view text, std::size_t piece) {
  MemorySource source(text, piece);
  EntryReader reader(source);
  std::vector<std::string> entries;
  while (true) {
    const auto entry = reader.Next();
    if (!entry.ok()) {
      entries.push_back(absl::StrCat("error: ", entry.status().message()));
      return entries;
    }
    if (!entry->has_value()) return entries;
    entries.push_back(absl::StrCat((*entry)->line, ":", std::string((*entry)->text)));
  }
}

TEST(Entries, AreTheSameInPiecesOfAnySize) {
  const std::string lines = "\xef\xbb\xbf\n a \r\n\n{\"b\":\n}\n\nc";
  const std::string array = " [ {\"a\": \"]\\\"}\"} ,\n[1,\n2] , 3\n]\n ";
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
    EXPECT_THAT(EntriesOf(lines, piece), ElementsAre("2:a", "4:{\"b\":", "5:}", "7:c")) << piece;
    EXPECT_THAT(EntriesOf(array, piece), ElementsAre("1:{\"a\": \"]\\\"}\"}", "2:[1,\n2]", "3:3"))
        << piece;
  }
}

TEST(Entries, AnArrayThatIsNotClosedOrNotTheLastThingIsAnError) {
  EXPECT_THAT(
      EntriesOf("[{},{", 9),
      ElementsAre("1:{}", "error: line 1: the array is not closed; is the file cut short?"));
  EXPECT_THAT(EntriesOf("[1\n,", 9),
              ElementsAre("1:1", HasSubstr("line 2: the array is not closed")));
  EXPECT_THAT(EntriesOf("[", 9), ElementsAre(HasSubstr("the array is not closed")));
  EXPECT_THAT(EntriesOf("[1]\n[2]", 9),
              ElementsAre("1:1", "error: line 2: something follows the end of the array"));
  EXPECT_THAT(EntriesOf("[1,]", 9), ElementsAre("1:1", "1:"));
  EXPECT_THAT(EntriesOf("[]", 9), SizeIs(0));
}

}  // namespace
}  // namespace banyan::loadtest
