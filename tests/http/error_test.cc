#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "gtest/gtest.h"
#include "http/message.h"

namespace banyan::http {
namespace {

Error MakeError(int status, std::string message, std::string param = "") {
  Error error;
  error.status = status;
  error.code = "some_code";
  error.message = std::move(message);
  error.param = std::move(param);
  return error;
}

TEST(ErrorBody, ExactBytes) {
  EXPECT_EQ(ErrorBody(MakeError(400, "No.", "n")),
            R"({"error":{"message":"No.","type":"invalid_request_error","param":"n",)"
            R"("code":"some_code"}})");
  EXPECT_EQ(ErrorBody(MakeError(500, "No.")),
            R"({"error":{"message":"No.","type":"server_error","param":null,"code":"some_code"}})");
}

TEST(ErrorBody, TypeFollowsFromTheStatus) {
  const auto type = [](int status) {
    const boost::json::value body = boost::json::parse(ErrorBody(MakeError(status, "")));
    return std::string(body.at("error").at("type").as_string().c_str());
  };
  EXPECT_EQ(type(401), "authentication_error");
  EXPECT_EQ(type(404), "invalid_request_error");
  EXPECT_EQ(type(429), "rate_limit_error");
  EXPECT_EQ(type(499), "invalid_request_error");
  EXPECT_EQ(type(500), "server_error");
  EXPECT_EQ(type(503), "server_error");
}

TEST(ErrorBody, IsJsonOnOneLineWhateverTheMessageHolds) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const std::string body = ErrorBody(MakeError(400, every_byte, every_byte));
  EXPECT_EQ(body.find('\n'), std::string::npos);
  // The parser refuses invalid UTF-8 and unescaped control characters.
  const boost::json::value parsed = boost::json::parse(body);
  const auto& message = parsed.at("error").at("message").as_string();
  EXPECT_EQ(std::string(message.data(), 128), every_byte.substr(0, 128));
  EXPECT_EQ(message.size(), 128 + 128 * 3);
}

TEST(RequestHeader, FindsTheFirstOfAName) {
  Request request;
  request.headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(request.Header("a"), "1");
  EXPECT_EQ(request.Header("c"), "");
}

}  // namespace
}  // namespace banyan::http
