// Beast's parser as requests and answers use it: without what neither listens to, and without one
// fault of Beast's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace banyan::http {

template <bool kIsRequest>
class MessageParser : public boost::beast::http::basic_parser<kIsRequest> {
 public:
  using ErrorCode = boost::beast::error_code;
  using View = boost::beast::string_view;

  // Beast's put(): returns how many bytes it took from the front of `input`.
  //
  // Once Beast has seen the line of the last chunk, it asserts that it is never called with less
  // than five bytes. That holds behind another chunk, whose line break it counts in, but the first
  // line of all may be the last and have three: it waits for five, which no last chunk lacks.
  std::size_t Put(std::string_view input, ErrorCode& error) {
    constexpr std::size_t kLastChunkBytes = std::string_view("0\r\n\r\n").size();
    if (input.size() < kLastChunkBytes && input.starts_with('0') && BeforeChunks()) {
      error = boost::beast::http::error::need_more;
      return 0;
    }
    return this->put(boost::asio::const_buffer(input.data(), input.size()), error);
  }

 protected:
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  void on_chunk_header_impl(std::uint64_t, View, ErrorCode&) override { chunk_begun_ = true; }
  void on_finish_impl(ErrorCode&) override {}

 private:
  bool BeforeChunks() const { return this->is_header_done() && this->chunked() && !chunk_begun_; }

  bool chunk_begun_ = false;  // the line of one was read
};

}  // namespace banyan::http
