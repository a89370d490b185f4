#include "tests/http/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace banyan::http {

std::string Reply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string Reply::ErrorField(const std::string& name) const {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(body, error);
  if (error || !value.is_object() || !value.as_object().contains("error")) return "";
  const boost::json::value* field = value.at("error").as_object().if_contains(name);
  return field != nullptr && field->is_string() ? std::string(field->as_string().c_str()) : "";
}

RawClient::RawClient(std::uint16_t port, const std::string& host) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const bool is_v6 = ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1;
  if (!is_v6) ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr);

  fd_ = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  timeval patience = {};
  patience.tv_sec = kPatience.count();
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const auto* address =
      is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  if (::connect(fd_, address, is_v6 ? sizeof(v6) : sizeof(v4)) != 0) Close();
}

RawClient::~RawClient() { Close(); }

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawClient::ReadSome() {
  std::string bytes(64 << 10, '\0');
  const ssize_t received = ::recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(received > 0 ? static_cast<std::size_t>(received) : 0);
  return bytes;
}

bool RawClient::Fill() {
  const std::string bytes = ReadSome();
  buffer_ += bytes;
  return !bytes.empty();
}

Reply RawClient::ReadHead() {
  Reply reply;
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return reply;
  }
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  std::size_t line = head.find("\r\n") + 2;
  while (line < head.size()) {
    const std::size_t next = head.find("\r\n", line);
    const std::size_t colon = head.find(':', line);
    std::string name = head.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.headers[name] = head.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  reply.status = std::atoi(head.c_str() + std::strlen("HTTP/1.1 "));
  return reply;
}

Reply RawClient::Read() {
  Reply reply = ReadHead();
  if (reply.status == 0) return reply;
  if (reply.Header("transfer-encoding") == "chunked") {
    if (!ReadChunks(&reply.body)) reply.status = 0;
  } else if (reply.headers.contains("content-length")) {
    const std::size_t length = std::strtoull(reply.Header("content-length").c_str(), nullptr, 10);
    while (buffer_.size() < length) {
      if (!Fill()) return Reply();
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
  } else if (reply.status != 204) {
    reply.body = ReadToEnd();
  }
  return reply;
}

bool RawClient::ReadChunks(std::string* body) {
  for (;;) {
    std::size_t line = 0;
    while ((line = buffer_.find("\r\n")) == std::string::npos) {
      if (!Fill()) return false;
    }
    const std::size_t size = std::strtoull(buffer_.c_str(), nullptr, 16);
    while (buffer_.size() < line + 2 + size + 2) {
      if (!Fill()) return false;
    }
    *body += buffer_.substr(line + 2, size);
    buffer_.erase(0, line + 2 + size + 2);
    if (size == 0) return true;
  }
}

std::string RawClient::ReadToEnd() {
  while (Fill()) {
  }
  std::string all;
  all.swap(buffer_);
  return all;
}

bool RawClient::Ended() { return buffer_.empty() && ReadSome().empty(); }

bool RawClient::HasBytes() {
  char byte = 0;
  return !buffer_.empty() || ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void RawClient::ShutdownWrite() { ::shutdown(fd_, SHUT_WR); }

void RawClient::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawClient::Reset() {
  const linger now = {1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

std::string Get(std::string_view path, std::string_view more_headers) {
  std::string request = "GET ";
  request += path;
  request += " HTTP/1.1\r\nHost: test\r\n";
  request += more_headers;
  return request + "\r\n";
}

std::string Post(std::string_view path, std::string_view body, std::string_view more_headers) {
  std::string request = "POST ";
  request += path;
  request += " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n";
  request += more_headers;
  request += "\r\n";
  request += body;
  return request;
}

}  // namespace banyan::http
