// The steps that know words. Patterns are quoted as the reference has them.
#include <cstddef>
#include <cstdint>

#include "text/split_scanner.h"
#include "text/split_steps.h"

namespace banyan::text {
namespace {

enum class Case : std::uint8_t { kExact, kIgnored };

// 's|'t|'re|'ve|'m|'ll|'d at `at`: where it ends, or `at`. Without regard to case, U+017F is an s.
std::size_t Contraction(const SplitScanner& scanner, std::size_t at, Case letter_case) {
  if (!scanner.Is(at, '\'')) return at;
  const auto letter = [&](std::size_t i) {
    if (i >= scanner.size()) return '\0';
    const char c = scanner.text()[i];
    return letter_case == Case::kIgnored && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  };
  const char first = letter(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const char second = letter(at + 2);
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  if (letter_case == Case::kIgnored && scanner.At(at + 1).point == 0x17F) return at + 3;
  return at;
}

// \s+(?!\S)|\s+ from `at`, where there is white space: it leaves the last of several to the word
// that follows.
std::size_t Spaces(const SplitScanner& scanner, std::size_t at) {
  std::size_t last = at;
  std::size_t end = at;
  for (Character c = scanner.At(end); (c.classes & kSpace) != 0; c = scanner.At(end)) {
    last = end;
    end += c.length;
  }
  return end == scanner.size() || last == at ? end : last;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end among the white space, if there is one.
std::size_t SpacesAndLines(const SplitScanner& scanner, std::size_t at) {
  std::size_t last = at;
  std::size_t end = at;
  std::size_t lines = at;
  for (Character c = scanner.At(end); (c.classes & kSpace) != 0; c = scanner.At(end)) {
    last = end;
    end += c.length;
    if ((c.classes & kNewline) != 0) lines = end;
  }
  if (lines != at) return lines;
  return end == scanner.size() || last == at ? end : last;
}

constexpr CharClasses kNoSign = kSpace | kLetter | kNumber;

enum class Trailing : std::uint8_t { kNothing, kLines, kLinesAndSlashes };

std::size_t SkipTrailing(const SplitScanner& scanner, std::size_t at, Trailing trailing) {
  if (trailing == Trailing::kNothing) return at;
  while (scanner.Is(at, '\n') || scanner.Is(at, '\r') ||
         (trailing == Trailing::kLinesAndSlashes && scanner.Is(at, '/'))) {
    ++at;
  }
  return at;
}

//  ?[^\s\p{L}\p{N}]+ and what follows it; `none` are the classes that a sign has none of.
std::size_t Signs(const SplitScanner& scanner, std::size_t at, const Character& first,
                  CharClasses none, Trailing trailing) {
  std::size_t begin = at;
  Character sign = first;
  if (first.point == ' ') sign = scanner.At(begin = at + 1);
  if (sign.length == 0 || (sign.classes & none) != 0) return at;
  return SkipTrailing(scanner, scanner.SkipNone(begin + sign.length, none), trailing);
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t MatchGpt2(const SplitScanner& scanner, std::size_t at, const Character& first) {
  if (first.point == '\'') {
    const std::size_t end = Contraction(scanner, at, Case::kExact);
    if (end != at) return end;
  }
  std::size_t begin = at;
  Character c = first;
  if (first.point == ' ') c = scanner.At(begin = at + 1);
  if ((c.classes & kLetter) != 0) return scanner.SkipAny(begin + c.length, kLetter);
  if ((c.classes & kNumber) != 0) return scanner.SkipAny(begin + c.length, kNumber);
  if (c.length != 0 && (c.classes & kSpace) == 0) {
    return scanner.SkipNone(begin + c.length, kNoSign);
  }
  return Spaces(scanner, at);
}

// [^\r\n\p{L}\p{N}]?\p{L}+ ; `word` are the classes of which words are made.
std::size_t PrefixedWord(const SplitScanner& scanner, std::size_t at, const Character& first,
                         CharClasses prefix_none, CharClasses word) {
  if ((first.classes & prefix_none) == 0) {
    const Character next = scanner.At(at + first.length);
    if ((next.classes & word) != 0) {
      return scanner.SkipAny(at + first.length + next.length, word);
    }
  }
  if ((first.classes & word) == 0) return at;
  return scanner.SkipAny(at + first.length, word);
}

struct Style {
  CharClasses word = kLetter;
  int digits = 3;
  Trailing trailing = Trailing::kLines;
};

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
template <Style kStyle>
std::size_t MatchCl100k(const SplitScanner& scanner, std::size_t at, const Character& first) {
  if (first.point == '\'') {
    const std::size_t end = Contraction(scanner, at, Case::kIgnored);
    if (end != at) return end;
  }
  if ((first.classes & kNumber) != 0) return scanner.SkipAtMost(at, kNumber, kStyle.digits);
  std::size_t end = PrefixedWord(scanner, at, first, kNewline | kLetter | kNumber, kStyle.word);
  if (end != at) return end;
  end = Signs(scanner, at, first, kNoSign | kStyle.word, kStyle.trailing);
  return end != at ? end : SpacesAndLines(scanner, at);
}

// Letters that are neither capitals nor small, and marks, stand on both sides of a word.
bool IsUpperSide(const Character& c) {
  return (c.classes & (kLetter | kMark)) != 0 && (c.classes & kLower) == 0;
}
bool IsLowerSide(const Character& c) {
  return (c.classes & (kLetter | kMark)) != 0 && (c.classes & kUpper) == 0;
}

// U*W+|U+W* at `at`, where U is the upper side and W the lower: the first in `capitals_only`
// unset, the second in it set. `at` where neither matches.
std::size_t CasedWord(const SplitScanner& scanner, std::size_t at, bool& capitals_only) {
  std::size_t end = at;
  std::size_t both = at;  // behind the last character of both sides
  Character c = scanner.At(end);
  for (; IsUpperSide(c); c = scanner.At(end)) {
    end += c.length;
    if (IsLowerSide(c)) both = end;
  }
  capitals_only = false;
  if (IsLowerSide(c)) {
    for (; IsLowerSide(c); c = scanner.At(end)) end += c.length;
    return end;
  }
  if (both != at) return both;
  capitals_only = end != at;
  return end;
}

// [^\r\n\p{L}\p{N}]?U*W+(?i:'s|...)?|[^\r\n\p{L}\p{N}]?U+W*(?i:'s|...)? : every way with small
// letters comes before any of capitals only, the way with something before the word first.
std::size_t PrefixedCasedWord(const SplitScanner& scanner, std::size_t at, const Character& first) {
  bool prefixed_capitals = false;
  std::size_t prefixed = at;
  if ((first.classes & (kNewline | kLetter | kNumber)) == 0) {
    const std::size_t begin = at + first.length;
    const std::size_t end = CasedWord(scanner, begin, prefixed_capitals);
    if (end != begin) prefixed = end;
    if (prefixed != at && !prefixed_capitals) return prefixed;
  }
  bool capitals = false;
  const std::size_t bare = CasedWord(scanner, at, capitals);
  if (bare != at && !capitals) return bare;
  return prefixed != at ? prefixed : bare;
}

enum class Contractions : std::uint8_t { kNone, kAfterWords };

template <int kDigitsTogether, Contractions kContractions>
std::size_t MatchO200k(const SplitScanner& scanner, std::size_t at, const Character& first) {
  if ((first.classes & kNumber) != 0) return scanner.SkipAtMost(at, kNumber, kDigitsTogether);
  std::size_t end = PrefixedCasedWord(scanner, at, first);
  if (end != at) {
    return kContractions == Contractions::kNone ? end : Contraction(scanner, end, Case::kIgnored);
  }
  end = Signs(scanner, at, first, kNoSign, Trailing::kLinesAndSlashes);
  return end != at ? end : SpacesAndLines(scanner, at);
}

// [!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
std::size_t MatchDeepSeekV3(const SplitScanner& scanner, std::size_t at, const Character& first) {
  if ((first.classes & kAsciiPunctuation) != 0) {
    const std::size_t end = scanner.SkipAny(at + 1, kAsciiLetter);
    if (end != at + 1) return end;
  }
  constexpr CharClasses kSign = kPunctuation | kSymbol;
  std::size_t end = PrefixedWord(scanner, at, first, kNewline | kLetter | kSign, kLetter | kMark);
  if (end != at) return end;
  const std::size_t begin = first.point == ' ' ? at + 1 : at;
  end = scanner.SkipAny(begin, kSign);
  if (end != begin) return SkipTrailing(scanner, end, Trailing::kLines);
  return (first.classes & kSpace) != 0 ? SpacesAndLines(scanner, at) : at;
}

}  // namespace

void Gpt2Words(std::string_view text, EmitRun emit) { SplitBy(text, emit, MatchGpt2); }

void Cl100kWords(std::string_view text, EmitRun emit) { SplitBy(text, emit, MatchCl100k<Style{}>); }

void Qwen2Words(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, MatchCl100k<Style{.digits = 1}>);
}

void Qwen35Words(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, MatchCl100k<Style{.word = kLetter | kMark, .digits = 1}>);
}

void SeedCoderWords(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, MatchCl100k<Style{.digits = 1, .trailing = Trailing::kNothing}>);
}

void TekkenWords(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, MatchO200k<1, Contractions::kNone>);
}

void O200kWords(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, MatchO200k<3, Contractions::kAfterWords>);
}

void DeepSeekV3Words(std::string_view text, EmitRun emit) { SplitBy(text, emit, MatchDeepSeekV3); }

}  // namespace banyan::text
