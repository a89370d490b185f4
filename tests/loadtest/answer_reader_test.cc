#include "loadtest/client/answer_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace banyan::loadtest {
namespace {

std::string Event(const std::string& json, const std::string& end = "\n") {
  return "data: " + json + end + end;
}

std::string Delta(const std::string& delta, const std::string& reason = "null") {
  return R"({"id":"c","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + reason +
         "}]}";
}

const char* const kUsage =
    R"({"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,)"
    R"("prompt_tokens_details":{"cached_tokens":16}}})";

// A role, "Hi" and " there", a usage chunk, [DONE].
std::string Stream(const std::string& end = "\n") {
  return Event(Delta(R"({"role":"assistant","content":""})"), end) +
         Event(Delta(R"({"content":"Hi"})"), end) + ": keep-alive" + end + end +
         Event(Delta(R"({"content":" th\u00e9re"})"), end) +
         Event(Delta("{}", R"("length")"), end) + Event(kUsage, end) + Event("[DONE]", end);
}

struct Read {
  Record record;
  std::string text;
  std::vector<ContentEvent> events;
};

// The pieces arrive at 1, 2, 3, ... nanoseconds.
Read ReadPieces(const std::vector<std::string>& pieces, Api api = Api::kChat, int status = 200,
                std::string_view type = "text/event-stream; charset=utf-8") {
  AnswerReader reader(api);
  reader.Head(status, type, Tick(0));
  Tick at(0);
  for (const std::string& piece : pieces) reader.Body(piece, at += Tick(1));
  Read read;
  reader.Finish(at += Tick(1), read.record);
  read.text = reader.text();
  read.events = reader.events();
  return read;
}

Read ReadWhole(const std::string& bytes) { return ReadPieces({bytes}); }

TEST(AnswerReader, ContentIsCountedNotRolesNorUsage) {
  const Read read =
      ReadPieces({Event(Delta(R"({"role":"assistant","content":""})")),
                  Event(Delta(R"({"content":"Hi"})")), Event(Delta(R"({"content":" there"})")),
                  Event(Delta("{}", R"("stop")")), Event(kUsage), Event("[DONE]")});
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "Hi there");
  EXPECT_EQ(read.record.first_content, Tick(2));
  EXPECT_EQ(read.record.last_content, Tick(3));
  EXPECT_EQ(read.record.content_events, 2);
  EXPECT_EQ(read.record.finish_reason, "stop");
  EXPECT_EQ(read.record.prompt_tokens, 20);
  EXPECT_EQ(read.record.cached_tokens, 16);
  EXPECT_EQ(read.record.output_tokens, 5);
  EXPECT_EQ(read.record.end, Tick(6)) << "the answer ends with its [DONE]";
}

TEST(AnswerReader, AStreamReadsTheSameSplitAnywhere) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string stream = Stream(end);
    const std::size_t last = stream.find("[DONE]");
    for (std::size_t i = 0; i <= stream.size(); ++i) {
      const Read read = ReadPieces({stream.substr(0, i), stream.substr(i)});
      ASSERT_EQ(read.record.outcome, Outcome::kOk) << i << ": " << read.record.error;
      ASSERT_EQ(read.text, "Hi th\u00e9re") << i;
      ASSERT_EQ(read.record.content_events, 2) << i;
      ASSERT_EQ(read.record.output_tokens, 5) << i;
      ASSERT_EQ(read.record.finish_reason, "length") << i;
      ASSERT_LE(read.record.end, i <= last ? Tick(2) : Tick(3)) << i;
    }
  }
}

TEST(AnswerReader, BytesMayComeOneByOne) {
  std::vector<std::string> pieces;
  for (const char c : Stream("\r\n")) pieces.emplace_back(1, c);
  const Read read = ReadPieces(pieces);
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "Hi th\u00e9re");
  EXPECT_EQ(read.record.content_events, 2);
}

TEST(AnswerReader, EventsOfOneReadHaveOneTimeAndAreEachCounted) {
  const Read read = ReadWhole(Stream());
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[0].at, Tick(1));
  EXPECT_EQ(read.events[1].at, Tick(1));
  EXPECT_EQ(read.events[0].bytes, 2);
  EXPECT_EQ(read.events[1].bytes, 7);
}

TEST(AnswerReader, AnEventCountsWhenItIsComplete) {
  const std::string event = Event(Delta(R"({"content":"Hi"})"));
  const Read read = ReadPieces({event.substr(0, 20), event.substr(20), Event("[DONE]")});
  EXPECT_EQ(read.record.first_content, Tick(2));
}

TEST(AnswerReader, DataOfSeveralLinesIsOneEvent) {
  const Read read = ReadWhole(
      "event: message\ndata: {\"choices\":[\ndata: {\"delta\":{\"content\":\"Hi\"},\ndata: "
      "\"finish_reason\":\"stop\"}]}\nid: 1\n\ndata: [DONE]\n\n");
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "Hi");
}

TEST(AnswerReader, NoSpaceIsNeededBehindTheColonNorABlankLineAtTheEnd) {
  const Read read =
      ReadWhole("data:" + Delta(R"({"content":"Hi"})", R"("stop")") + "\n\ndata:[DONE]");
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.record.content_events, 1);
}

TEST(AnswerReader, ReasoningAndToolCallsAreContentButNotTheAnswersText) {
  const Read read = ReadPieces(
      {Event(Delta(R"({"reasoning_content":"hm"})")), Event(Delta(R"({"reasoning":"so"})")),
       Event(Delta(
           R"({"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]})")),
       Event(Delta(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]})")),
       Event(Delta(R"({"content":null})", R"("tool_calls")")), Event("[DONE]")});
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.record.content_events, 4);
  EXPECT_EQ(read.text, "");
  ASSERT_EQ(read.events.size(), 4u);
  EXPECT_EQ(read.events[2].bytes, 1);
  EXPECT_EQ(read.events[3].bytes, 7);
}

TEST(AnswerReader, CompletionsHaveText) {
  const Read read =
      ReadPieces({Event(R"({"choices":[{"index":0,"text":"a b","logprobs":null}]})"),
                  Event(R"({"choices":[{"text":"","finish_reason":"length"}]})"), Event("[DONE]")},
                 Api::kCompletions);
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "a b");
  EXPECT_EQ(read.record.content_events, 1);
}

TEST(AnswerReader, WordsLikeMembersElsewhereMeanNothing) {
  const Read read = ReadPieces(
      {Event(
           R"({"content":"no","x":{"choices":[{"delta":{"content":"no"}}],"error":{"message":1}},)"
           R"("choices":[{"delta":{"content":"yes","x":{"content":"no"}},"text":"no",)"
           R"("logprobs":{"content":[{"token":"no"}]},"finish_reason":"stop"}]})"),
       Event("[DONE]")});
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "yes");
}

TEST(AnswerReader, AWholeAnswerIsOneEvent) {
  const Read read =
      ReadPieces({R"({"choices":[{"message":{"role":"assistant","content":"Hi there"},)",
                  R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})"},
                 Api::kChat, 200, "application/json");
  EXPECT_EQ(read.record.outcome, Outcome::kOk) << read.record.error;
  EXPECT_EQ(read.text, "Hi there");
  EXPECT_EQ(read.record.content_events, 1);
  EXPECT_EQ(read.record.first_content, Tick(3));
  EXPECT_EQ(read.record.end, Tick(3));
  EXPECT_EQ(read.record.cached_tokens, -1);
}

TEST(AnswerReader, WithoutATypeTheFirstByteTells) {
  EXPECT_EQ(ReadPieces({Stream()}, Api::kChat, 200, "").record.outcome, Outcome::kOk);
  EXPECT_EQ(ReadPieces({R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]})"},
                       Api::kChat, 200, "")
                .record.outcome,
            Outcome::kOk);
}

TEST(AnswerReader, LlamaCppTellsItsHitsInTimings) {
  const Read read = ReadPieces(
      {Event(
           R"({"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"timings":{"cache_n":9}})"),
       Event("[DONE]")});
  EXPECT_EQ(read.record.cached_tokens, 9);
}

Record WithUsage(const std::string& prompt, const std::string& cached, const std::string& output) {
  return ReadPieces({Event(Delta(R"({"content":"Hi"})", R"("stop")")),
                     Event(R"({"choices":[],"usage":{"prompt_tokens":)" + prompt +
                           R"(,"completion_tokens":)" + output +
                           R"(,"prompt_tokens_details":{"cached_tokens":)" + cached + "}}}"),
                     Event("[DONE]")})
      .record;
}

TEST(AnswerReader, CountsThatCannotBeAreNotTold) {
  const std::string most = "2147483647";
  const Record bound = WithUsage(most, most, most);
  EXPECT_EQ(bound.prompt_tokens, 2147483647);
  EXPECT_EQ(bound.cached_tokens, 2147483647);
  EXPECT_EQ(bound.output_tokens, 2147483647);
  for (const std::string count : {"2147483648", "9223372036854775807", "-1", "1.5"}) {
    const Record record = WithUsage(count, count, count);
    EXPECT_EQ(record.outcome, Outcome::kOk);
    EXPECT_EQ(record.prompt_tokens, -1) << count;
    EXPECT_EQ(record.cached_tokens, -1) << count;
    EXPECT_EQ(record.output_tokens, -1) << count;
  }
  EXPECT_EQ(WithUsage("5", "5", "1").cached_tokens, 5);
  EXPECT_EQ(WithUsage("5", "6", "1").cached_tokens, -1) << "more than the prompt";
}

TEST(AnswerReader, AnEndWithoutDoneNeedsAFinishReason) {
  const std::string hi = Event(Delta(R"({"content":"Hi"})"));
  EXPECT_EQ(ReadWhole(hi).record.outcome, Outcome::kTruncated);
  EXPECT_EQ(ReadWhole(hi + Event("[DONE]")).record.outcome, Outcome::kOk);
  const Read finished = ReadWhole(hi + Event(Delta("{}", R"("stop")")));
  EXPECT_EQ(finished.record.outcome, Outcome::kOk);
  EXPECT_EQ(finished.record.end, Tick(2));
  EXPECT_EQ(ReadWhole("").record.outcome, Outcome::kTruncated);
}

TEST(AnswerReader, AnAnswerWithoutContentIsEmpty) {
  const Read read = ReadPieces({Event(Delta("{\"role\":\"assistant\"}")),
                                Event(Delta("{}", R"("stop")")), Event(kUsage), Event("[DONE]")});
  EXPECT_EQ(read.record.outcome, Outcome::kEmpty);
  EXPECT_EQ(read.record.first_content, std::nullopt);
  EXPECT_EQ(read.record.output_tokens, 5) << "what was told is kept";
}

TEST(AnswerReader, AnErrorInTheStreamEndsIt) {
  const std::string hi = Event(Delta(R"({"content":"Hi"})"));
  for (const std::string error :
       {R"({"error":{"message":"out of pages","code":500}})", R"({"error":"out of pages"})",
        R"({"object":"error","message":"out of pages","code":500})"}) {
    const Read read = ReadWhole(hi + Event(error) + hi);
    EXPECT_EQ(read.record.outcome, Outcome::kErrorEvent) << error;
    EXPECT_EQ(read.record.error, "out of pages") << error;
    EXPECT_EQ(read.record.content_events, 1) << "what came before is kept";
  }
  const Read old = ReadWhole(hi + "error: {\"error\":{\"message\":\"out of pages\"}}\n\n");
  EXPECT_EQ(old.record.outcome, Outcome::kErrorEvent);
  EXPECT_EQ(old.record.error, "out of pages");
  EXPECT_EQ(
      ReadWhole(Event(R"({"error":null,"choices":[{"delta":{"content":"x"}}]})") + Event("[DONE]"))
          .record.outcome,
      Outcome::kOk);
}

TEST(AnswerReader, GarbageIsMalformed) {
  for (const std::string bytes :
       {"<html>no</html>\n", "data: {\"choices\":\n\n", "data: 1\n\n", "data: {}\n\n",
        "data: [1,2]\n\n", "what\n\n", "data: {\"choices\":[]} x\n\n", "data: \xff\n\n"}) {
    const Read read = ReadWhole(bytes);
    EXPECT_EQ(read.record.outcome, Outcome::kMalformed) << bytes;
    EXPECT_FALSE(read.record.error.empty());
  }
  EXPECT_EQ(ReadPieces({"{\"choices\""}, Api::kChat, 200, "application/json").record.outcome,
            Outcome::kMalformed);
}

TEST(AnswerReader, AnotherStatusIsSaidWithTheServersWords) {
  const Read read = ReadPieces({R"({"error":{"message":"queue is )", R"(full"}})"}, Api::kChat, 429,
                               "application/json");
  EXPECT_EQ(read.record.outcome, Outcome::kStatus);
  EXPECT_EQ(read.record.status, 429);
  EXPECT_EQ(read.record.error, "status 429: queue is full");
  EXPECT_EQ(ReadPieces({}, Api::kChat, 500, "").record.error, "status 500");
  EXPECT_EQ(ReadPieces({"<h1>bad\ngateway"}, Api::kChat, 502, "text/html").record.error,
            "status 502: <h1>bad gateway");
}

TEST(AnswerReader, BodySaysWhenItIsOver) {
  AnswerReader reader(Api::kChat);
  reader.Head(200, "text/event-stream", Tick(0));
  EXPECT_TRUE(reader.Body(Event(Delta(R"({"content":"Hi"})")), Tick(1)));
  EXPECT_FALSE(reader.done());
  EXPECT_FALSE(reader.Body(Event("[DONE]"), Tick(2)));
  EXPECT_TRUE(reader.done());
  EXPECT_FALSE(reader.failed());
  EXPECT_FALSE(reader.Body("garbage\n", Tick(3)));
  EXPECT_FALSE(reader.failed()) << "what comes later is ignored";
}

TEST(AnswerReader, ALineHasABound) {
  // "data: " and the blank line aside, a comment is the line that means nothing.
  for (const int over : {-1, 0, 1}) {
    AnswerReader reader(Api::kChat);
    reader.Head(200, "text/event-stream", Tick(0));
    std::string line(AnswerReader::kMaxLineBytes + static_cast<std::size_t>(over), 'x');
    line.front() = ':';
    bool more = reader.Body(line.substr(0, line.size() / 2), Tick(1)) &&
                reader.Body(line.substr(line.size() / 2), Tick(2));
    EXPECT_EQ(more, over <= 0);
    more = reader.Body("\n", Tick(3));
    EXPECT_EQ(more, over <= 0);
    AnswerReader at_once(Api::kChat);
    at_once.Head(200, "text/event-stream", Tick(0));
    EXPECT_EQ(at_once.Body(line + "\n", Tick(1)), over <= 0);
    EXPECT_EQ(at_once.failed(), over > 0);
  }
}

}  // namespace
}  // namespace banyan::loadtest
