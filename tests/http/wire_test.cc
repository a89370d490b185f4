#include "http/wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ResponseHead, ExactBytes) {
  Response response;
  response.status = 404;
  response.body = "{}";
  response.headers.emplace_back("X-A", "b");
  EXPECT_EQ(ResponseHead(response, Persistence::kClose),
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "X-A: b\r\nConnection: close\r\n\r\n");
}

TEST(ResponseHead, TellsOnlyHttp10OfKeepAlive) {
  EXPECT_THAT(ResponseHead(Response(), Persistence::kKeepAlive), Not(HasSubstr("Connection")));
  EXPECT_THAT(ResponseHead(Response(), Persistence::kKeepAlive10),
              HasSubstr("\r\nConnection: keep-alive\r\n"));
}

TEST(ResponseHead, ANoContentAnswerHasNoLength) {
  Response response;
  response.status = 204;
  EXPECT_EQ(ResponseHead(response, Persistence::kKeepAlive), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(ResponseHead, NoValueCanAddAHeader) {
  Response response;
  response.headers.emplace_back("X-A", std::string("b\r\nX-Evil: c\0", 13));
  EXPECT_THAT(ResponseHead(response, Persistence::kClose), HasSubstr("X-A: b  X-Evil: c \r\n"));
}

TEST(EventBytes, OneChunkForAllEvents) {
  EXPECT_EQ(EventBytes({"{\"a\":1}", "[DONE]"}, Framing::kChunked),
            "1d\r\ndata: {\"a\":1}\n\ndata: [DONE]\n\n\r\n");
}

TEST(EventBytes, NoChunksForHttp10) {
  EXPECT_EQ(EventBytes({"1", "2"}, Framing::kUntilClose), "data: 1\n\ndata: 2\n\n");
}

TEST(EventBytes, NoEventsAreNotAnEmptyChunk) { EXPECT_EQ(EventBytes({}, Framing::kChunked), ""); }

}  // namespace
}  // namespace banyan::http
