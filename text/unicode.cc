#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace banyan::text {
namespace {

#include "text/unicode_classes.inc"

constexpr std::size_t kBlock = 256;
constexpr char32_t kPoints = 0x110000;

CharClasses OwnClasses(char32_t point, CharClasses classes) {
  if (point == '\r' || point == '\n') return kNewline;
  if (point >= 0x80) return 0;
  if ((classes & kLetter) != 0) return kAsciiLetter;
  return (classes & (kPunctuation | kSymbol)) != 0 ? kAsciiPunctuation : CharClasses{0};
}

}  // namespace

ClassTable::ClassTable() {
  std::vector<CharClasses> all(kPoints, 0);
  for (std::size_t i = 0; i < std::size(kClassRuns); ++i) {
    // A run: its first code point, and ten bits.
    const auto classes = static_cast<CharClasses>(kClassRuns[i] & 0x3FF);
    const std::size_t end = i + 1 < std::size(kClassRuns) ? kClassRuns[i + 1] >> 10 : kPoints;
    std::fill(all.begin() + (kClassRuns[i] >> 10), all.begin() + static_cast<std::ptrdiff_t>(end),
              classes);
  }
  for (char32_t point = 0; point < ascii_.size(); ++point) {
    all[point] |= OwnClasses(point, all[point]);
    ascii_[point] = all[point];
  }
  std::map<std::vector<CharClasses>, std::uint16_t> known;
  for (std::size_t block = 0; block < block_.size(); ++block) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
    const std::vector<CharClasses> classes(begin, begin + kBlock);
    const auto [entry, inserted] =
        known.emplace(classes, static_cast<std::uint16_t>(blocks_.size() / kBlock));
    if (inserted) blocks_.insert(blocks_.end(), classes.begin(), classes.end());
    block_[block] = entry->second;
  }
}

const ClassTable& ClassTable::Get() {
  static const ClassTable table;
  return table;
}

void AppendUtf8(char32_t point, std::string& text) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

}  // namespace banyan::text
