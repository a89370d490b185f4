#include "text/split_steps.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "text/split_scanner.h"

namespace banyan::text {
namespace {

struct Points {
  char32_t first = 0;
  char32_t last = 0;
};

template <std::size_t kCount>
bool Within(const std::array<Points, kCount>& ranges, char32_t point) {
  // The first range that does not end before it.
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), point,
                       [](const Points& points, char32_t p) { return points.last < p; });
  return range != ranges.end() && range->first <= point;
}

// [A-Za-zµÀ-ÖØ-öø-ƺ...]: the letters with case of one Unicode release.
constexpr std::array<Points, 84> kCased = {{
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x377},     {0x37B, 0x37D},
    {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},     {0x38C, 0x38C},
    {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
    {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
    {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
    {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
    {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
    {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
    {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
    {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
    {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
    {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
}};
constexpr std::array<Points, 6> kWideSigns = {{
    {0x21, 0x2F},
    {0x3A, 0x7E},
    {0x2018, 0x201F},
    {0x3000, 0x3002},
    {0xFF01, 0xFF0F},
    {0xFF1A, 0xFF5E},
}};
constexpr std::array<Points, 2> kIdeographs = {{{0x800, 0x9FA5}, {0xAC00, 0xD7FF}}};
constexpr std::array<Points, 2> kIdeographsAndKana = {{{0x3040, 0x30FF}, {0x4E00, 0x9FA5}}};

template <typename Wanted>
std::size_t SkipWhile(const SplitScanner& scanner, std::size_t at, Wanted wanted) {
  for (Character c = scanner.At(at); c.length != 0 && wanted(c); c = scanner.At(at)) at += c.length;
  return at;
}

// \s?X+ , where X may be white space too.
template <typename Wanted>
void AfterSpace(std::string_view text, EmitRun emit, Wanted wanted) {
  SplitBy(text, emit, [&](const SplitScanner& scanner, std::size_t at, const Character& first) {
    if ((first.classes & kSpace) != 0) {
      const std::size_t begin = at + first.length;
      const std::size_t end = SkipWhile(scanner, begin, wanted);
      if (end != begin) return end;
    }
    return SkipWhile(scanner, at, wanted);
  });
}

// X+
template <typename Wanted>
void RunsOf(std::string_view text, EmitRun emit, Wanted wanted) {
  SplitBy(text, emit, [&](const SplitScanner& scanner, std::size_t at, const Character&) {
    return SkipWhile(scanner, at, wanted);
  });
}

// Each X alone.
void EachOf(std::string_view text, EmitRun emit, CharClasses classes) {
  SplitBy(text, emit, [=](const SplitScanner&, std::size_t at, const Character& first) {
    return (first.classes & classes) != 0 ? at + first.length : at;
  });
}

// Spelled as GPT-2 spells bytes, these are superscripts and fractions, numbers to Unicode.
bool IsDigitByte(char byte) {
  constexpr std::string_view kNumbers = "\xB2\xB3\xB9\xBC\xBD\xBE";
  return absl::ascii_isdigit(byte) || kNumbers.find(byte) != std::string_view::npos;
}

}  // namespace

void EachDigit(std::string_view text, EmitRun emit) { EachOf(text, emit, kDigits); }

void EachNewline(std::string_view text, EmitRun emit) { EachOf(text, emit, kNewline); }

void NumbersOfThree(std::string_view text, EmitRun emit) {
  SplitBy(text, emit, [](const SplitScanner& scanner, std::size_t at, const Character&) {
    return scanner.SkipAtMost(at, kNumber, 3);
  });
}

void LettersAfterSpace(std::string_view text, EmitRun emit) {
  AfterSpace(text, emit, [](const Character& c) { return (c.classes & kLetter) != 0; });
}

void SignsAfterSpace(std::string_view text, EmitRun emit) {
  AfterSpace(text, emit, [](const Character& c) { return (c.classes & kPunctuation) != 0; });
}

void CasedAfterSpace(std::string_view text, EmitRun emit) {
  AfterSpace(text, emit, [](const Character& c) { return Within(kCased, c.point); });
}

void AsciiSignsAfterSpace(std::string_view text, EmitRun emit) {
  AfterSpace(text, emit, [](const Character& c) { return Within(kWideSigns, c.point); });
}

// \s+$ ; nothing but the end of `text` is an end, as line ends are runs of their own by then.
void SpacesAtTheEnd(std::string_view text, EmitRun emit) {
  const SplitScanner scanner(text);
  std::size_t spaces = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = scanner.At(at);
    at += c.length;
    if ((c.classes & kSpace) == 0) spaces = at;
  }
  if (spaces > 0) emit(text.substr(0, spaces));
  if (spaces < text.size()) emit(text.substr(spaces));
}

void Ideographs(std::string_view text, EmitRun emit) {
  RunsOf(text, emit, [](const Character& c) { return Within(kIdeographs, c.point); });
}

void IdeographsAndKana(std::string_view text, EmitRun emit) {
  RunsOf(text, emit, [](const Character& c) { return Within(kIdeographsAndKana, c.point); });
}

void PunctuationRuns(std::string_view text, EmitRun emit) {
  RunsOf(text, emit, [](const Character& c) { return (c.classes & kSplitPunctuation) != 0; });
}

void FalconDigits(std::string_view text, EmitRun emit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const bool digits = IsDigitByte(text[begin]);
    std::size_t end = begin + 1;
    while (end < text.size() && IsDigitByte(text[end]) == digits) ++end;
    emit(text.substr(begin, end - begin));
    begin = end;
  }
}

void Threes(std::string_view text, EmitRun emit) {
  std::size_t done = 0;
  for (std::size_t at = 0; at + 3 <= text.size();) {
    if (!std::ranges::all_of(text.substr(at, 3), absl::ascii_isdigit)) {
      ++at;
      continue;
    }
    if (at > done) emit(text.substr(done, at - done));
    emit(text.substr(at, 3));
    done = at += 3;
  }
  if (done < text.size()) emit(text.substr(done));
}

}  // namespace banyan::text
