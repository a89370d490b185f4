// Classes of characters, as the reference's regular expressions and its Rust code see them
// (unicode_classes.inc names how they were asked). Immutable, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace banyan::text {

// Bits; a character may have several. The first ten are in the order of unicode_classes.inc.
using CharClasses = std::uint16_t;
inline constexpr CharClasses kLetter = 1 << 0;
inline constexpr CharClasses kUpper = 1 << 1;  // upper and title case letters
inline constexpr CharClasses kLower = 1 << 2;
inline constexpr CharClasses kNumber = 1 << 3;
inline constexpr CharClasses kMark = 1 << 4;
inline constexpr CharClasses kPunctuation = 1 << 5;
inline constexpr CharClasses kSymbol = 1 << 6;
inline constexpr CharClasses kSpace = 1 << 7;
inline constexpr CharClasses kDigits = 1 << 8;            // what "Digits" takes for numeric
inline constexpr CharClasses kSplitPunctuation = 1 << 9;  // what "Punctuation" cuts at
inline constexpr CharClasses kNewline = 1 << 10;          // \r and \n
inline constexpr CharClasses kAsciiLetter = 1 << 11;
inline constexpr CharClasses kAsciiPunctuation = 1 << 12;

struct Character {
  char32_t point = 0;
  CharClasses classes = 0;
  std::uint8_t length = 0;  // bytes; 0 past the end of a text
};

// The character at the front of `text`, which is UTF-8.
inline char32_t DecodeUtf8(std::string_view text, std::uint8_t& length) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) {
    length = 1;
    return first;
  }
  if (first < 0xE0) {
    length = 2;
    return (first & 0x1F) << 6 | (byte(1) & 0x3F);
  }
  if (first < 0xF0) {
    length = 3;
    return (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  }
  length = 4;
  return (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

void AppendUtf8(char32_t point, std::string& text);

class ClassTable {
 public:
  static const ClassTable& Get();  // made once

  CharClasses Of(char32_t point) const {
    return blocks_[(static_cast<std::size_t>(block_[point >> 8]) << 8) | (point & 0xFF)];
  }
  CharClasses OfAscii(unsigned char byte) const { return ascii_[byte]; }

 private:
  ClassTable();

  std::array<CharClasses, 128> ascii_{};
  std::array<std::uint16_t, 0x1100> block_{};  // by the upper bits: which 256 of blocks_
  std::vector<CharClasses> blocks_;
};

}  // namespace banyan::text
