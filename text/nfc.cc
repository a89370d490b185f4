#include "text/nfc.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "text/unicode.h"

namespace banyan::text {
namespace {

#include "text/nfc.inc"

// Hangul syllables are put together by arithmetic (Unicode 15.0, section 3.12).
constexpr char32_t kSyllables = 0xAC00;
constexpr char32_t kSyllableCount = 11172;
constexpr char32_t kLeads = 0x1100;
constexpr char32_t kLeadCount = 19;
constexpr char32_t kVowels = 0x1161;
constexpr char32_t kVowelCount = 21;
constexpr char32_t kTails = 0x11A7;  // one before the first: no tail counts as one
constexpr char32_t kTailCount = 28;

// Below it nothing decomposes in a way that does not compose again, and nothing combines.
constexpr char32_t kFirstUnsure = 0x300;

class Tables {
 public:
  static const Tables& Get() {
    static const Tables tables;
    return tables;
  }

  std::uint8_t CombiningClass(char32_t point) const {
    const auto entry = combining_.find(point);
    return entry == combining_.end() ? 0 : entry->second;
  }
  void Decompose(char32_t point, std::u32string& out) const {
    if (point - kSyllables < kSyllableCount) {
      const char32_t index = point - kSyllables;
      out.push_back(kLeads + index / (kVowelCount * kTailCount));
      out.push_back(kVowels + index % (kVowelCount * kTailCount) / kTailCount);
      if (index % kTailCount != 0) out.push_back(kTails + index % kTailCount);
      return;
    }
    const auto entry = decompositions_.find(point);
    if (entry == decompositions_.end()) {
      out.push_back(point);
    } else {
      out.append(entry->second);
    }
  }
  // What `first` and `second` become, or 0.
  char32_t Compose(char32_t first, char32_t second) const {
    if (first - kLeads < kLeadCount && second - kVowels < kVowelCount) {
      return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
    }
    if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0 &&
        second - kTails - 1 < kTailCount - 1) {
      return first + (second - kTails);
    }
    const auto entry = compositions_.find({first, second});
    return entry == compositions_.end() ? 0 : entry->second;
  }
  // Whether a text with this character may have to change: it decomposes, combines, or is the
  // second of a pair that composes.
  bool Unsure(char32_t point) const { return unsure_.contains(point); }

 private:
  Tables() {
    for (std::size_t i = 0; i < std::size(kDecompositions);) {
      const char32_t point = kDecompositions[i];
      const std::size_t length = kDecompositions[i + 1];
      const auto* begin = kDecompositions + i + 2;
      decompositions_.emplace(point, std::u32string(begin, begin + length));
      i += 2 + length;
      unsure_.insert(point);
    }
    for (const std::uint32_t entry : kCombining) {
      combining_.emplace(entry >> 8, static_cast<std::uint8_t>(entry & 0xFF));
      unsure_.insert(entry >> 8);
    }
    for (std::size_t i = 0; i < std::size(kCompositions); i += 3) {
      compositions_.emplace(std::pair(kCompositions[i], kCompositions[i + 1]),
                            kCompositions[i + 2]);
      unsure_.erase(kCompositions[i + 2]);  // composed already: as it should be
    }
    for (const auto& [pair, composed] : compositions_) unsure_.insert(pair.second);
    for (char32_t i = 0; i < kVowelCount; ++i) unsure_.insert(kVowels + i);
    for (char32_t i = 1; i < kTailCount; ++i) unsure_.insert(kTails + i);
  }

  absl::flat_hash_map<char32_t, std::u32string> decompositions_;
  absl::flat_hash_map<char32_t, std::uint8_t> combining_;
  absl::flat_hash_map<std::pair<char32_t, char32_t>, char32_t> compositions_;
  absl::flat_hash_set<char32_t> unsure_;
};

bool NeedsNothing(std::string_view text, const Tables& tables) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0xCC) {  // U+0000 to U+02FF: one or two bytes
      ++at;
      continue;
    }
    std::uint8_t length = 0;
    const char32_t point = DecodeUtf8(text.substr(at), length);
    if (point >= kFirstUnsure && tables.Unsure(point)) return false;
    at += length;
  }
  return true;
}

// Marks between two starters are ordered by class, those of one class as they came.
std::u32string Decomposed(std::string_view text, const Tables& tables) {
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::uint8_t length = 0;
    tables.Decompose(DecodeUtf8(text.substr(at), length), points);
    at += length;
  }
  const auto is_mark = [&](char32_t point) { return tables.CombiningClass(point) != 0; };
  const auto by_class = [&](char32_t a, char32_t b) {
    return tables.CombiningClass(a) < tables.CombiningClass(b);
  };
  for (auto at = points.begin(); at != points.end();) {
    const auto begin = std::find_if(at, points.end(), is_mark);
    at = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, at, by_class);
  }
  return points;
}

void ComposeInPlace(std::u32string& points, const Tables& tables) {
  std::size_t out = 0;
  std::size_t starter = std::u32string::npos;
  std::uint8_t last_class = 0;  // of what lies between the starter and here
  for (const char32_t point : points) {
    const std::uint8_t combining = tables.CombiningClass(point);
    if (starter != std::u32string::npos) {
      const bool adjacent = starter + 1 == out;
      const bool blocked = !adjacent && last_class >= combining;
      const char32_t composed = blocked ? 0 : tables.Compose(points[starter], point);
      if (composed != 0) {
        points[starter] = composed;
        continue;
      }
    }
    if (combining == 0) starter = out;
    last_class = combining;
    points[out++] = point;
  }
  points.resize(out);
}

}  // namespace

std::optional<std::string> ToNfc(std::string_view text) {
  const Tables& tables = Tables::Get();
  if (NeedsNothing(text, tables)) return std::nullopt;
  std::u32string points = Decomposed(text, tables);
  ComposeInPlace(points, tables);
  std::string normal;
  normal.reserve(text.size());
  for (const char32_t point : points) AppendUtf8(point, normal);
  return normal;
}

}  // namespace banyan::text
