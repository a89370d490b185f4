#include "text/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace banyan::text {
namespace {

constexpr std::size_t kLetters = 0x144;  // one past the largest code point of the alphabet
constexpr std::int16_t kNoByte = -1;

struct Alphabet {
  std::array<std::uint16_t, 256> letter{};    // byte -> code point, below 0x800
  std::array<std::int16_t, kLetters> byte{};  // code point -> byte, or kNoByte
};

constexpr bool SpelledAsItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.byte.fill(kNoByte);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int letter = SpelledAsItself(byte) ? byte : next++;
    alphabet.letter[byte] = static_cast<std::uint16_t>(letter);
    alphabet.byte[letter] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();
static_assert(kAlphabet.letter[0xAD] == kLetters - 1);

}  // namespace

std::string SpellBytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const std::uint16_t letter = kAlphabet.letter[static_cast<unsigned char>(c)];
    if (letter < 0x80) {
      spelling.push_back(static_cast<char>(letter));
    } else {
      spelling.push_back(static_cast<char>(0xC0 | (letter >> 6)));
      spelling.push_back(static_cast<char>(0x80 | (letter & 0x3F)));
    }
  }
  return spelling;
}

std::optional<std::string> BytesOfSpelling(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    std::size_t letter = static_cast<unsigned char>(spelling[i]);
    if (letter >= 0x80) {
      // Two bytes, as every letter over 7F has; anything else is outside the alphabet.
      if ((letter & 0xE0) != 0xC0 || ++i == spelling.size()) return std::nullopt;
      const auto second = static_cast<unsigned char>(spelling[i]);
      if ((second & 0xC0) != 0x80) return std::nullopt;
      letter = ((letter & 0x1F) << 6) | (second & 0x3Fu);
      if (letter < 0x80) return std::nullopt;
    }
    if (letter >= kLetters || kAlphabet.byte[letter] == kNoByte) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.byte[letter]));
  }
  return bytes;
}

}  // namespace banyan::text
