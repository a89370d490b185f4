#include "server/openai/strict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace banyan::server::openai {
namespace {

using ::testing::HasSubstr;

http::Error NotJson(const std::string& text) {
  const Result<boost::json::object> object = ParseObject(text);
  if (object.ok()) {
    ADD_FAILURE() << "accepted: " << text.substr(0, 80);
    return {};
  }
  EXPECT_EQ(object.error().status, 400);
  EXPECT_EQ(object.error().code, "invalid_request");
  return object.error();
}

TEST(StrictJson, OnlyOneWholeObjectIsTaken) {
  EXPECT_TRUE(ParseObject(" {\"a\":[1,2.5,\"x\",null,true,{\"b\":{}}]} \n").ok());
  for (const char* text : {"",
                           " ",
                           "{",
                           "{\"a\":",
                           "{\"a\":1,}",
                           "{} {}",
                           "{}x",
                           "[1]",
                           "7",
                           "\"a\"",
                           "null",
                           "{'a':1}",
                           "{\"a\":NaN}",
                           "{\"a\":01}",
                           "\xEF\xBB\xBF{}",
                           "{\"a\":\"\xFF\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"tab\there\"}",
                           "{\"a\":1 /* why */}",
                           "{\"a\":1e999}"}) {
    NotJson(text);
  }
}

TEST(StrictJson, AKeyThatIsThereTwiceIsRefusedByName) {
  EXPECT_THAT(NotJson(R"({"a":1,"b":2,"a":3})").message, HasSubstr("\"a\" is there twice"));
  EXPECT_THAT(NotJson(R"({"x":[{"a":1,"\u0061":3}]})").message, HasSubstr("twice"));
  EXPECT_TRUE(ParseObject(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})").ok());
}

std::string Nested(int depth) {
  std::string text = "{\"a\":";
  for (int i = 1; i < depth; ++i) text += '[';
  text += '1';
  for (int i = 1; i < depth; ++i) text += ']';
  return text + "}";
}

TEST(StrictJson, DepthIsBounded) {
  EXPECT_TRUE(ParseObject(Nested(31)).ok());
  EXPECT_TRUE(ParseObject(Nested(32)).ok());
  NotJson(Nested(33));
  NotJson(absl::StrCat("{\"a\":", std::string(1'000'000, '[')));
}

std::string Values(std::size_t count) {  // the object and its array are two of them
  std::string text = "{\"a\":[0";
  for (std::size_t i = 3; i < count; ++i) text += ",0";
  return text + "]}";
}

TEST(StrictJson, TheNumberOfValuesIsBounded) {
  EXPECT_TRUE(ParseObject(Values(kMaxJsonValues - 1)).ok());
  EXPECT_TRUE(ParseObject(Values(kMaxJsonValues)).ok());
  EXPECT_THAT(NotJson(Values(kMaxJsonValues + 1)).message, HasSubstr("values"));
}

}  // namespace
}  // namespace banyan::server::openai
