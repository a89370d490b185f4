// Counting characters, as the text offsets of the completions API do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace banyan::server::openai {

// Unicode characters that begin in `text`, which is UTF-8.
inline std::int64_t Characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // no continuation byte
  });
}

}  // namespace banyan::server::openai
