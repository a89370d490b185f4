#include "http/wire.h"

#include <algorithm>

#include <boost/beast/http/status.hpp>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace banyan::http {
namespace {

void AppendStatusLine(int status, std::string* head) {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  absl::StrAppend(head, "HTTP/1.1 ", status, " ");
  head->append(reason.data(), reason.size());
  *head += "\r\n";
}

void AppendHeader(std::string_view name, std::string_view value, std::string* head) {
  *head += name;
  *head += ": ";
  const std::size_t start = head->size();
  *head += value;
  std::replace_if(
      head->begin() + static_cast<std::ptrdiff_t>(start), head->end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  *head += "\r\n";
}

void AppendPersistence(Persistence persistence, std::string* head) {
  if (persistence == Persistence::kClose) AppendHeader("Connection", "close", head);
  if (persistence == Persistence::kKeepAlive10) AppendHeader("Connection", "keep-alive", head);
}

}  // namespace

bool HasNoBody(int status) { return status == 204 || status == 304; }

std::string ResponseHead(const Response& response, Persistence persistence) {
  std::string head;
  AppendStatusLine(response.status, &head);
  if (!HasNoBody(response.status)) {
    AppendHeader("Content-Type", response.content_type, &head);
    absl::StrAppend(&head, "Content-Length: ", response.body.size(), "\r\n");
  }
  for (const auto& [name, value] : response.headers) AppendHeader(name, value, &head);
  AppendPersistence(persistence, &head);
  head += "\r\n";
  return head;
}

std::string EventStreamHead(Framing framing, Persistence persistence) {
  std::string head;
  AppendStatusLine(200, &head);
  AppendHeader("Content-Type", "text/event-stream", &head);
  // Neither caches nor buffering proxies (X-Accel-Buffering is nginx's) may hold events back.
  AppendHeader("Cache-Control", "no-cache", &head);
  AppendHeader("X-Accel-Buffering", "no", &head);
  if (framing == Framing::kChunked) AppendHeader("Transfer-Encoding", "chunked", &head);
  AppendPersistence(persistence, &head);
  head += "\r\n";
  return head;
}

std::string EventBytes(const std::vector<std::string>& events, Framing framing) {
  constexpr std::string_view kField = "data: ";
  constexpr std::string_view kEnd = "\n\n";
  if (events.empty()) return {};
  std::size_t size = 0;
  for (const std::string& event : events) {
    DCHECK(event.find_first_of("\r\n") == std::string::npos);
    size += kField.size() + event.size() + kEnd.size();
  }
  std::string bytes;
  bytes.reserve(size + 24);
  if (framing == Framing::kChunked) absl::StrAppend(&bytes, absl::Hex(size), "\r\n");
  for (const std::string& event : events) {
    bytes += kField;
    bytes += event;
    bytes += kEnd;
  }
  if (framing == Framing::kChunked) bytes += "\r\n";
  return bytes;
}

}  // namespace banyan::http
