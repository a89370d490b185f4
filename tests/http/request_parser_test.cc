#include "http/request_parser.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan::http {
namespace {

using State = RequestParser::State;

constexpr RequestParser::Limits kLimits = {/*head_bytes=*/256, /*body_bytes=*/16};
constexpr std::string_view kHead = "POST /x HTTP/1.1\r\nHost: h\r\n";

std::string WithBody(const std::string& headers, const std::string& body) {
  return std::string(kHead) + headers + "\r\n" + body;
}

// Feeds the `first` bytes, then pieces of `step`, as a connection would: what is not taken is fed
// again. Returns what is left.
std::string FeedAll(RequestParser& parser, const std::string& bytes, std::size_t first,
                    std::size_t step) {
  std::string buffer = bytes.substr(0, first);
  std::size_t next = buffer.size();
  for (;;) {
    const State before = parser.state();
    const std::size_t used = parser.Feed(buffer);
    buffer.erase(0, used);
    const bool open = parser.state() == State::kHead || parser.state() == State::kBody;
    if (!open || (next == bytes.size() && used == 0 && before == parser.state())) break;
    buffer += bytes.substr(next, step);
    next = std::min(bytes.size(), next + step);
  }
  return buffer + bytes.substr(next);
}

std::string FeedAll(RequestParser& parser, const std::string& bytes, std::size_t step) {
  return FeedAll(parser, bytes, step, step);
}

TEST(RequestParser, IsTheSameInPiecesOfAnySize) {
  const std::string chunked =
      WithBody("X-Name: Value \r\nTransfer-Encoding: chunked\r\n",
               "3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n") +
      "NEXT";
  for (std::size_t step = 1; step <= chunked.size(); ++step) {
    RequestParser parser(kLimits);
    EXPECT_EQ(FeedAll(parser, chunked, step), "NEXT");
    ASSERT_EQ(parser.state(), State::kDone) << parser.error().message;
    EXPECT_EQ(parser.request().method, "POST");
    EXPECT_EQ(parser.target(), "/x");
    EXPECT_EQ(parser.request().body, "abc0123456789");
    EXPECT_EQ(parser.request().Header("x-name"), "Value");
    EXPECT_EQ(parser.request().Header("x-trailer"), "") << "trailers are no headers";
    EXPECT_TRUE(parser.persistent());
  }
}

// Beast asserts, of the line of a last chunk that is the first, that it does not come in pieces.
TEST(RequestParser, TakesALastChunkThatIsTheFirst) {
  for (const char* chunks : {"0\r\n\r\n", "00\r\n\r\n", "00000000\r\n\r\n", "0;e\r\n\r\n",
                             "0;e=\"v\"\r\n\r\n", "0\r\nX: t\r\n\r\n", "0;e\r\nX: t\r\n\r\n",
                             "1\r\na\r\n0\r\n\r\n", "01\r\na\r\n0\r\nX: t\r\n\r\n"}) {
    const std::string request = WithBody("Transfer-Encoding: chunked\r\n", chunks) + "NEXT";
    for (std::size_t first = 1; first <= request.size(); ++first) {
      for (const std::size_t step : {first, request.size()}) {
        RequestParser parser(kLimits);
        EXPECT_EQ(FeedAll(parser, request, first, step), "NEXT") << chunks << first << ' ' << step;
        EXPECT_EQ(parser.state(), State::kDone) << chunks << first << ' ' << step;
        const bool empty = std::string_view(chunks).find('a') == std::string_view::npos;
        EXPECT_EQ(parser.request().body, empty ? "" : "a");
      }
    }
  }
}

TEST(RequestParser, StopsBetweenHeadAndBody) {
  RequestParser parser(kLimits);
  const std::string request = WithBody("Content-Length: 3\r\n", "abcd");
  const std::size_t head = parser.Feed(request);
  EXPECT_EQ(request.substr(head), "abcd");
  EXPECT_EQ(parser.state(), State::kBody);
  EXPECT_EQ(parser.body_length(), 3u);
  EXPECT_EQ(parser.Feed("abcd"), 3u);
  EXPECT_EQ(parser.state(), State::kDone);
}

TEST(RequestParser, ARequestWithoutABodyIsDoneWithItsHead) {
  RequestParser parser(kLimits);
  parser.Feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(parser.state(), State::kDone);
  EXPECT_FALSE(parser.has_body());
}

TEST(RequestParser, SkipsEmptyLinesBeforeARequestWithinTheBound) {
  RequestParser parser(kLimits);
  EXPECT_EQ(FeedAll(parser, "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 1), "");
  EXPECT_EQ(parser.state(), State::kDone);

  RequestParser bounded(kLimits);
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "\r\n";
  FeedAll(bounded, lines, 7);
  EXPECT_EQ(bounded.state(), State::kFailed);
  EXPECT_EQ(bounded.error().status, 431);
}

TEST(RequestParser, PersistenceFollowsVersionAndConnection) {
  const auto persistent = [](std::string line, std::string header) {
    RequestParser parser(kLimits);
    parser.Feed(line + "\r\nHost: h\r\n" + header + "\r\n");
    EXPECT_EQ(parser.state(), State::kDone);
    return parser.persistent();
  };
  EXPECT_TRUE(persistent("GET / HTTP/1.1", ""));
  EXPECT_FALSE(persistent("GET / HTTP/1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(persistent("GET / HTTP/1.1", "Connection: te, close\r\n"));
  EXPECT_FALSE(persistent("GET / HTTP/1.0", ""));
  EXPECT_TRUE(persistent("GET / HTTP/1.0", "Connection: keep-alive\r\n"));
}

// How many bytes of head, fed in pieces of `step`, give which status (0: accepted).
int StatusOfHead(std::size_t size, std::size_t step) {
  std::string head = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  head += std::string(size - head.size() - 4, 'x') + "\r\n\r\n";
  EXPECT_EQ(head.size(), size);
  RequestParser parser(kLimits);
  FeedAll(parser, head, step);
  EXPECT_NE(parser.state(), State::kHead);
  return parser.state() == State::kFailed ? parser.error().status : 0;
}

TEST(RequestParser, BoundsTheHead) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}, std::size_t{1000}}) {
    EXPECT_EQ(StatusOfHead(kLimits.head_bytes - 1, step), 0);
    EXPECT_EQ(StatusOfHead(kLimits.head_bytes, step), 0);
    EXPECT_EQ(StatusOfHead(kLimits.head_bytes + 1, step), 431);
    EXPECT_EQ(StatusOfHead(kLimits.head_bytes * 9, step), 431);
  }
}

int StatusOfChunks(const std::string& body) {
  RequestParser parser(kLimits);
  FeedAll(parser, WithBody("Transfer-Encoding: chunked\r\n", body), 64);
  return parser.state() == State::kFailed ? parser.error().status : 0;
}

TEST(RequestParser, BoundsTheBytesOfAChunkedBody) {
  EXPECT_EQ(StatusOfChunks("f\r\n0123456789abcde\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOfChunks("f\r\n0123456789abcde\r\n1\r\nf\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOfChunks("f\r\n0123456789abcde\r\n2\r\nfg\r\n0\r\n\r\n"), 413);
  EXPECT_EQ(StatusOfChunks("11\r\n"), 413) << "refused as soon as it is announced";
  EXPECT_EQ(StatusOfChunks("ffffffffffffffff\r\n"), 413);
}

TEST(RequestParser, BoundsTheFramingOfAChunkedBody) {
  const std::string line(2 * kLimits.head_bytes, 'e');
  EXPECT_EQ(StatusOfChunks("1;" + line + "\r\na\r\n0\r\n\r\n"), 431);
  EXPECT_EQ(StatusOfChunks("0\r\nX: " + line + "\r\n\r\n"), 431);

  // Sixteen bytes may come in sixteen chunks, but not with an extension as long as a head each.
  std::string plain;
  std::string padded;
  for (int i = 0; i < 16; ++i) {
    plain += "1\r\na\r\n";
    padded += "1;" + std::string(kLimits.head_bytes - 10, 'e') + "\r\na\r\n";
  }
  EXPECT_EQ(StatusOfChunks(plain + "0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOfChunks(padded + "0\r\n\r\n"), 413);
}

TEST(RequestParser, RefusesWhatTwoPartiesCouldReadDifferently) {
  const auto status = [](const std::string& headers) {
    RequestParser parser(kLimits);
    FeedAll(parser, WithBody(headers, "abc"), 1000);
    return parser.state() == State::kFailed ? parser.error().status : 0;
  };
  EXPECT_EQ(status("Content-Length: 3\r\n"), 0);
  for (const char* headers : {
           "Content-Length: 3\r\nContent-Length: 3\r\n",
           "Content-Length: 3\r\nContent-Length: 4\r\n",
           "Content-Length: 3, 3\r\n",
           "Content-Length: -3\r\n",
           "Content-Length: +3\r\n",
           "Content-Length: 0x3\r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Content-Length:\r\n",
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
           "Content-Length: 3\r\nTransfer-Encoding: identity\r\n",
           "Transfer-Encoding: identity\r\nContent-Length: 3\r\n",
           "Transfer-Encoding: gzip\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: chunked, gzip\r\n",
           "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "Host: other\r\n",
       }) {
    EXPECT_EQ(status(headers), 400) << headers;
  }
}

TEST(RequestParser, RefusesChunksInHttp10) {
  RequestParser parser(kLimits);
  parser.Feed("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  ASSERT_EQ(parser.state(), State::kFailed);
  EXPECT_EQ(parser.error().status, 400);
}

TEST(RequestParser, RefusesBadChunks) {
  for (const char* body :
       {"x\r\n", "-1\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3 \nabc\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n",
        "0x\r\n\r\n", "0\r\rX\r\n", "0\r\nX\r\n\r\n", "1\r\na\r\n0\r\nContent-Length: 1\r\n\r\n"}) {
    EXPECT_EQ(StatusOfChunks(body), 400) << body;
  }
}

}  // namespace
}  // namespace banyan::http
