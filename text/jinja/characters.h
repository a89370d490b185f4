// Characters as Python's str sees them. Bytes that are no UTF-8 count as one character each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/unicode.h"

namespace banyan::text::jinja {

struct Character {
  char32_t code = 0;
  std::size_t length = 1;  // in bytes
};

// At the front of `text`, which is not empty.
Character FirstCharacter(std::string_view text);
using text::AppendUtf8;

// Where character `index` begins; past the last: the size.
std::size_t ByteOf(std::string_view text, std::size_t index);

bool IsSpace(char32_t code);
std::size_t LeadingSpace(std::string_view text);  // in bytes
std::size_t TrailingSpace(std::string_view text);

bool IsPrintable(char32_t code);
bool IsAlphabetic(char32_t code);
bool IsDecimal(char32_t code);
bool IsDigitCharacter(char32_t code);  // decimal, or as a superscript is
bool IsNumeric(char32_t code);

enum class Case : unsigned char { kUpper, kLower, kTitle };
// `code` in that case: one or more characters. Greek's final sigma is up to the caller.
void AppendInCase(char32_t code, Case wanted, std::string& out);
bool IsUpper(char32_t code);  // has a lower case
bool IsLower(char32_t code);  // has an upper case
inline bool IsCased(char32_t code) { return IsUpper(code) || IsLower(code); }

}  // namespace banyan::text::jinja
