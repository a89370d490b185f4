// A client over one blocking socket that sends exactly the bytes it is given. Every wait is bounded
// by kPatience, which no test that passes comes near.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace banyan::http {

inline constexpr std::chrono::seconds kPatience{60};

struct Reply {
  int status = 0;                              // 0: the connection ended before a complete reply
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // without the framing of chunks

  std::string Header(const std::string& name) const;
  // error.code of an OpenAI error body, error.message of the same; empty for any other body.
  std::string ErrorField(const std::string& name) const;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, const std::string& host = "127.0.0.1");
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  // False once the server has closed.
  bool Send(std::string_view bytes);
  Reply Read();            // with the body, if the head names one
  Reply ReadHead();        // of an answer to HEAD, or of 100
  std::string ReadSome();  // what one recv gives; empty: the end
  // What is left of the stream, after a reply or instead of one.
  std::string ReadToEnd();
  // True once the server has closed or reset; false if there is anything to read.
  bool Ended();
  // True if something is there to be read, without waiting.
  bool HasBytes();

  void ShutdownWrite();
  void Close();
  void Reset();  // closes with RST

 private:
  bool Fill();
  bool ReadChunks(std::string* body);

  int fd_ = -1;
  std::string buffer_;
};

// A request with a Host header; a body gets Content-Length and application/json.
std::string Get(std::string_view path, std::string_view more_headers = "");
std::string Post(std::string_view path, std::string_view body, std::string_view more_headers = "");

}  // namespace banyan::http
