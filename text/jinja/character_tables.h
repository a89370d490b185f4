// What Python's str methods know of the characters from U+0080 on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::text::jinja {

struct CharacterRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Every stride-th character becomes the one `change` after it.
struct CaseRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t stride;
  std::int32_t change;
};

// A character that becomes several.
struct CaseSpelling {
  std::uint32_t character;
  const char* text;
};

// Each ascends.
extern const CharacterRange kPrintable[], kAlphabetic[], kDecimal[], kDigit[], kNumeric[];
extern const std::size_t kPrintableSize, kAlphabeticSize, kDecimalSize, kDigitSize, kNumericSize;
extern const CaseRange kUpper[], kLower[], kTitle[];
extern const std::size_t kUpperSize, kLowerSize, kTitleSize;
extern const CaseSpelling kUpperSpelling[], kLowerSpelling[], kTitleSpelling[];
extern const std::size_t kUpperSpellingSize, kLowerSpellingSize, kTitleSpellingSize;

}  // namespace banyan::text::jinja
