#include "http/answer_parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/http/recorder.h"

namespace banyan::http {
namespace {

using State = AnswerParser::State;
using testing::ElementsAre;

constexpr std::size_t kMaxBody = 16;

struct Parsed {
  State state = State::kHead;
  ClientError error = ClientError::kNone;
  bool persistent = false;
  int status = 0;
  int heads = 0;
  std::string body;
  std::string left;  // not taken
};

// How an answer is cut: what comes first, then pieces of `step`.
struct Cut {
  std::size_t first;
  std::size_t step;
};

// Feeds pieces of `bytes`, what was left in front of the next, as a connection does.
Parsed Parse(std::string_view bytes, Cut cut,
             AnswerParser::Content content = AnswerParser::Content::kWhole, bool ends = false) {
  Recorder recorder;
  AnswerParser parser(content, kMaxBody, recorder);
  Parsed parsed;
  std::size_t piece = cut.first;
  while (!bytes.empty() && parser.state() != State::kDone && parser.state() != State::kFailed) {
    parsed.left += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    parsed.left.erase(0, parser.Feed(parsed.left, Tick(1)));
    piece = cut.step;
  }
  parsed.left += bytes;
  if (ends) parser.End();
  parsed.state = parser.state();
  parsed.error = parser.error();
  parsed.persistent = parsed.state == State::kDone && parser.persistent();
  parsed.status = recorder.status;
  parsed.heads = recorder.heads;
  parsed.body = recorder.body;
  EXPECT_EQ(parser.what().empty(), parsed.error == ClientError::kNone);
  return parsed;
}

Parsed Parse(std::string_view bytes, std::size_t step,
             AnswerParser::Content content = AnswerParser::Content::kWhole) {
  return Parse(bytes, Cut{step, step}, content);
}

// The same however the bytes are cut: in two, or in pieces of one size.
Parsed ParseAnyhow(std::string_view bytes, bool ends = false) {
  const auto parse = [&](Cut cut) {
    return Parse(bytes, cut, AnswerParser::Content::kWhole, ends);
  };
  const Parsed whole = parse({bytes.size(), bytes.size()});
  for (std::size_t first = 1; first < bytes.size(); ++first) {
    for (const std::size_t step : {first, bytes.size()}) {
      const Parsed cut = parse({first, step});
      EXPECT_EQ(cut.state, whole.state) << first << ' ' << step;
      EXPECT_EQ(cut.error, whole.error) << first << ' ' << step;
      EXPECT_EQ(cut.persistent, whole.persistent) << first << ' ' << step;
      EXPECT_EQ(cut.status, whole.status) << first << ' ' << step;
      EXPECT_EQ(cut.heads, whole.heads) << first << ' ' << step;
      EXPECT_EQ(cut.body, whole.body) << first << ' ' << step;
      EXPECT_TRUE(whole.state != State::kDone || cut.left == whole.left) << first << ' ' << step;
    }
  }
  return whole;
}

TEST(AnswerParser, EndsWithItsContentLength) {
  const Parsed parsed = ParseAnyhow("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.status, 200);
  EXPECT_EQ(parsed.body, "hello");
  EXPECT_TRUE(parsed.persistent);
}

TEST(AnswerParser, LeavesWhatComesBehind) {
  const Parsed parsed = ParseAnyhow("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1");
  EXPECT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.body, "a");
  EXPECT_EQ(parsed.left, "HTTP/1.1");
}

TEST(AnswerParser, TakesTheFramingOffChunks) {
  const Parsed parsed = ParseAnyhow(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\nA;ext=\"v\"\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n");
  EXPECT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.body, "abc0123456789");
  EXPECT_TRUE(parsed.persistent);
}

// Beast asserts, of the line of a last chunk that is the first, that it does not come in pieces.
TEST(AnswerParser, TakesALastChunkThatIsTheFirst) {
  for (const char* chunks :
       {"0\r\n\r\n", "00\r\n\r\n", "00000000\r\n\r\n", "0;e\r\n\r\n", "0;e=\"v\"\r\n\r\n",
        "0\r\nX: t\r\n\r\n", "0\r\nX:\r\nY:\r\n\r\n", "0;e\r\nX: t\r\n\r\n", "1\r\na\r\n0\r\n\r\n",
        "01\r\na\r\n0\r\nX: t\r\n\r\n"}) {
    const Parsed parsed = ParseAnyhow(
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") + chunks + "NEXT");
    EXPECT_EQ(parsed.state, State::kDone) << chunks;
    EXPECT_EQ(parsed.body, std::string_view(chunks).find('a') == std::string_view::npos ? "" : "a");
    EXPECT_EQ(parsed.left, "NEXT") << chunks;
    EXPECT_TRUE(parsed.persistent) << chunks;
  }
}

TEST(AnswerParser, HandsOnTheFirstByteOfAChunkAtOnce) {
  Recorder recorder;
  AnswerParser parser(AnswerParser::Content::kWhole, kMaxBody, recorder);
  parser.Feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Tick(1));
  EXPECT_EQ(parser.Feed("1\r\na", Tick(2)), 4);
  EXPECT_THAT(recorder.pieces, ElementsAre("a"));
}

TEST(AnswerParser, HandsOnEachChunkWithTheTimeOfItsRead) {
  Recorder recorder;
  AnswerParser parser(AnswerParser::Content::kWhole, kMaxBody, recorder);
  parser.Feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb", Tick(1));
  parser.Feed("\r\n1\r\nc\r\n", Tick(2));
  EXPECT_EQ(recorder.head_at, Tick(1));
  EXPECT_THAT(recorder.pieces, ElementsAre("a", "b", "c"));
  EXPECT_THAT(recorder.times, ElementsAre(Tick(1), Tick(1), Tick(2)));
}

TEST(AnswerParser, LastsUntilTheEndOfTheConnectionWhereNothingElseSaysSo) {
  const std::string_view bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nabc";
  EXPECT_EQ(ParseAnyhow(bytes).state, State::kBody);
  const Parsed ended = ParseAnyhow(bytes, /*ends=*/true);
  EXPECT_EQ(ended.state, State::kDone);
  EXPECT_EQ(ended.body, "abc");
  EXPECT_FALSE(ended.persistent);
}

TEST(AnswerParser, IsTruncatedByAnEarlyEnd) {
  for (const char* bytes : {
           "H",
           "HTTP/1.1 200 OK\r\nContent-Len",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r",
           "HTTP/1.1 100 Continue\r\n\r\n",
       }) {
    const Parsed parsed = ParseAnyhow(bytes, /*ends=*/true);
    EXPECT_EQ(parsed.state, State::kFailed) << bytes;
    EXPECT_EQ(parsed.error, ClientError::kTruncated) << bytes;
  }
}

TEST(AnswerParser, IsTruncatedByAnEndWithoutAByte) {
  Recorder recorder;
  AnswerParser parser(AnswerParser::Content::kWhole, kMaxBody, recorder);
  parser.End();
  EXPECT_EQ(parser.error(), ClientError::kTruncated);
  EXPECT_FALSE(parser.begun());
}

TEST(AnswerParser, HasNoBodyWhereThereIsNone) {
  for (const char* head :
       {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    const Parsed parsed = ParseAnyhow(head);
    EXPECT_EQ(parsed.state, State::kDone) << head;
    EXPECT_EQ(parsed.body, "") << head;
    EXPECT_TRUE(parsed.persistent) << head;
  }
  const Parsed head = Parse("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", 1000,
                            AnswerParser::Content::kHeadOnly);
  EXPECT_EQ(head.state, State::kDone);
  EXPECT_TRUE(head.persistent);
}

TEST(AnswerParser, PassesOverInterimAnswers) {
  const Parsed parsed = ParseAnyhow(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
  EXPECT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.heads, 1);
  EXPECT_EQ(parsed.status, 200);
  EXPECT_EQ(parsed.body, "a");
}

TEST(AnswerParser, BoundsInterimAnswers) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  std::string most;
  for (int i = 0; i < AnswerParser::kMaxInterimAnswers; ++i) most += "HTTP/1.1 102 P\r\n\r\n";
  EXPECT_EQ(Parse(most + answer, 100).state, State::kDone);
  EXPECT_EQ(Parse("HTTP/1.1 102 P\r\n\r\n" + most + answer, 100).error, ClientError::kMalformed);
}

TEST(AnswerParser, KnowsWhichConnectionsPersist) {
  const auto persistent = [](const std::string& line_and_headers) {
    const Parsed parsed = ParseAnyhow(line_and_headers + "Content-Length: 0\r\n\r\n");
    EXPECT_EQ(parsed.state, State::kDone);
    return parsed.persistent;
  };
  EXPECT_TRUE(persistent("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(persistent("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n"));
  EXPECT_FALSE(persistent("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
  EXPECT_FALSE(persistent("HTTP/1.1 200 OK\r\nconnection: x, CLOSE\r\n"));
  EXPECT_FALSE(persistent("HTTP/1.0 200 OK\r\n"));
  EXPECT_TRUE(persistent("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"));
  const Parsed chunks = ParseAnyhow(
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(chunks.state, State::kDone);
  EXPECT_FALSE(chunks.persistent);
}

TEST(AnswerParser, RefusesWhatIsNotHttp) {
  for (const char* bytes : {
           "SSH-2.0-OpenSSH_9.2\r\n\r\n",
           "HTTP/2 200\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 abc OK\r\n\r\n",
           "HTTP/1.1 000 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\rX\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
       }) {
    const Parsed parsed = ParseAnyhow(bytes);
    EXPECT_EQ(parsed.state, State::kFailed) << bytes;
    EXPECT_EQ(parsed.error, ClientError::kMalformed) << bytes;
  }
}

TEST(AnswerParser, BoundsTheBody) {
  const auto error = [](const std::string& framed) {
    return Parse("HTTP/1.1 200 OK\r\n" + framed, 1000).error;
  };
  const std::string most(kMaxBody, 'x');
  EXPECT_EQ(error("Content-Length: 15\r\n\r\n"), ClientError::kNone);
  EXPECT_EQ(error("Content-Length: 16\r\n\r\n"), ClientError::kNone);
  EXPECT_EQ(error("Content-Length: 17\r\n\r\n"), ClientError::kMalformed);
  EXPECT_EQ(error("\r\n" + most), ClientError::kNone);
  EXPECT_EQ(error("\r\n" + most + "x"), ClientError::kMalformed);
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(error(chunked + "8\r\n01234567\r\n8\r\n01234567\r\n"), ClientError::kNone);
  EXPECT_EQ(error(chunked + "8\r\n01234567\r\n9\r\n"), ClientError::kMalformed);
}

TEST(AnswerParser, BoundsTheHead) {
  const auto parse = [](std::size_t head_bytes, std::size_t line, std::size_t step) {
    std::string head = "HTTP/1.1 204 No Content\r\n";
    while (head.size() + 2 * line < head_bytes) head += "X: " + std::string(line, 'v') + "\r\n";
    head += "X: " + std::string(head_bytes - head.size() - 7, 'v') + "\r\n\r\n";
    EXPECT_EQ(head.size(), head_bytes);
    return Parse(head, step);
  };
  constexpr std::size_t kMost = AnswerParser::kMaxHeadBytes;
  for (const std::size_t line : {std::size_t{100}, kMost}) {
    for (const std::size_t step : {std::size_t{100}, kMost, 2 * kMost}) {
      EXPECT_EQ(parse(kMost - 1, line, step).state, State::kDone) << line << ' ' << step;
      EXPECT_EQ(parse(kMost, line, step).state, State::kDone) << line << ' ' << step;
      EXPECT_EQ(parse(kMost + 1, line, step).error, ClientError::kMalformed) << line << ' ' << step;
    }
  }
}

TEST(AnswerParser, BoundsTheLineBeforeAChunkAndTheTrailers) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string half(AnswerParser::kMaxHeadBytes / 2, 'e');
  EXPECT_EQ(Parse(chunked + "1;" + half, 100).error, ClientError::kNone);
  EXPECT_EQ(Parse(chunked + "1;" + half + half, 100).error, ClientError::kMalformed);
  EXPECT_EQ(Parse(chunked + "0\r\nX: " + half, 100).error, ClientError::kNone);
  EXPECT_EQ(Parse(chunked + "0\r\nX: " + half + half, 100).error, ClientError::kMalformed);
}

TEST(AnswerParser, TellsTheSinkNothingMoreOnceItWantsNoMore) {
  Recorder recorder;
  recorder.on_body = [] { return false; };
  AnswerParser parser(AnswerParser::Content::kWhole, kMaxBody, recorder);
  const std::string_view bytes =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n";
  EXPECT_EQ(parser.Feed(bytes, Tick(1)), bytes.size());
  EXPECT_FALSE(parser.wanted());
  EXPECT_EQ(recorder.body, "a");
  EXPECT_EQ(parser.state(), State::kDone);
  EXPECT_TRUE(parser.persistent());
}

}  // namespace
}  // namespace banyan::http
