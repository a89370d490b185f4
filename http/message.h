// What goes through the server: requests, responses, and the error of the OpenAI API.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace banyan::http {

struct Request {
  std::string method;  // "GET", "POST"
  std::string path;    // percent-decoded, without the query
  std::string query;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first header of that (lower-case) name, or empty.
  std::string_view Header(std::string_view name) const;
};

// The error of the OpenAI API: {"error":{"message","type","param","code"}}.
struct Error {
  int status = 500;
  std::string code;             // "invalid_request", ...
  std::string message;          // one sentence, for a person
  std::string param;            // the request field at fault; empty: null on the wire
  int retry_after_seconds = 0;  // > 0: sent as Retry-After
};
// The body, without a line break. "type" follows from the status: invalid_request_error,
// authentication_error (401), rate_limit_error (429), server_error (5xx).
std::string ErrorBody(const Error& error);

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace banyan::http
