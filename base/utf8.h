// Well-formed UTF-8 (Unicode 15.0, section 3.9, table 3-7). Stateless, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace banyan {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Form : std::uint8_t {
  kCharacter,   // one whole character
  kIllFormed,   // a maximal subpart: no byte that follows can make it a character
  kUnfinished,  // the text ends within a character
};

struct Utf8Step {
  Utf8Form form = Utf8Form::kCharacter;
  std::size_t length = 0;  // bytes, 1 to 4
};

// What stands at the front of `bytes`, which must not be empty.
Utf8Step NextUtf8(std::string_view bytes);

// Whether a character begins with `byte`, of text that is UTF-8: it continues none.
inline bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// The characters that begin in `text`.
std::size_t CountCharacters(std::string_view text);

// The offset of the first byte that is not part of a whole character; npos when there is none.
std::size_t FirstInvalidUtf8(std::string_view bytes);

// `bytes` with each maximal ill-formed run replaced by U+FFFD.
std::string ToValidUtf8(std::string_view bytes);

}  // namespace banyan
