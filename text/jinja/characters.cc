#include "text/jinja/characters.h"

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "text/jinja/character_tables.h"

namespace banyan::text::jinja {
namespace {

// The range that may contain `code`, or null.
template <typename Range>
const Range* FindRange(std::span<const Range> ranges, char32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](char32_t wanted, const Range& range) { return wanted < range.first; });
  if (after == ranges.begin() || (after - 1)->last < code) return nullptr;
  return &*(after - 1);
}

bool Contains(const CharacterRange* ranges, std::size_t size, char32_t code) {
  return FindRange(std::span(ranges, size), code) != nullptr;
}

struct CaseTable {
  std::span<const CaseRange> ranges;
  std::span<const CaseSpelling> spellings;
};

CaseTable TableOf(Case wanted) {
  switch (wanted) {
    case Case::kUpper:
      return {{kUpper, kUpperSize}, {kUpperSpelling, kUpperSpellingSize}};
    case Case::kLower:
      return {{kLower, kLowerSize}, {kLowerSpelling, kLowerSpellingSize}};
    case Case::kTitle:
      break;
  }
  return {{kTitle, kTitleSize}, {kTitleSpelling, kTitleSpellingSize}};
}

bool ChangesTo(char32_t code, Case wanted) {
  const CaseTable table = TableOf(wanted);
  const CaseRange* range = FindRange(table.ranges, code);
  if (range != nullptr && (code - range->first) % range->stride == 0) return true;
  return std::ranges::binary_search(table.spellings, code, {}, &CaseSpelling::character);
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const Utf8Step step = NextUtf8(text);
  if (step.form != Utf8Form::kCharacter) return {first, 1};
  std::uint8_t length = 0;
  return {DecodeUtf8(text, length), step.length};
}

std::size_t ByteOf(std::string_view text, std::size_t index) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (BeginsCharacter(text[i]) && index-- == 0) return i;
  }
  return text.size();
}

bool IsSpace(char32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 28 && code <= 32);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

std::size_t LeadingSpace(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character c = FirstCharacter(text.substr(at));
    if (!IsSpace(c.code)) break;
    at += c.length;
  }
  return at;
}

std::size_t TrailingSpace(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && !BeginsCharacter(text[begin])) --begin;
    if (!IsSpace(FirstCharacter(text.substr(begin, end - begin)).code)) break;
    end = begin;
  }
  return text.size() - end;
}

bool IsPrintable(char32_t code) {
  if (code < 0x80) return code >= 0x20 && code < 0x7F;
  return Contains(kPrintable, kPrintableSize, code);
}

bool IsAlphabetic(char32_t code) {
  if (code < 0x80) return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  return Contains(kAlphabetic, kAlphabeticSize, code);
}

bool IsDecimal(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  return Contains(kDecimal, kDecimalSize, code);
}

bool IsDigitCharacter(char32_t code) {
  return code < 0x80 ? IsDecimal(code) : Contains(kDigit, kDigitSize, code);
}

bool IsNumeric(char32_t code) {
  return code < 0x80 ? IsDecimal(code) : Contains(kNumeric, kNumericSize, code);
}

void AppendInCase(char32_t code, Case wanted, std::string& out) {
  if (code < 0x80) {
    const bool letter = IsAlphabetic(code);
    const char32_t changed = wanted == Case::kLower ? code | 0x20 : code & ~char32_t{0x20};
    return AppendUtf8(letter ? changed : code, out);
  }
  const CaseTable table = TableOf(wanted);
  if (const CaseRange* range = FindRange(table.ranges, code)) {
    if ((code - range->first) % range->stride == 0) {
      return AppendUtf8(static_cast<char32_t>(static_cast<std::int32_t>(code) + range->change),
                        out);
    }
  }
  for (const CaseSpelling& spelling : table.spellings) {
    if (spelling.character == code) return void(out.append(spelling.text));
  }
  AppendUtf8(code, out);
}

bool IsUpper(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z';
  return ChangesTo(code, Case::kLower);
}

bool IsLower(char32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z';
  return ChangesTo(code, Case::kUpper);
}

}  // namespace banyan::text::jinja
