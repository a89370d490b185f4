#include "loadtest/client/vocabulary.h"

#include <utility>

#include "base/check.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {

std::vector<std::string> CandidatePieces() {
  std::vector<std::string> pieces;
  for (const std::string& word : CandidateWords()) pieces.push_back(" " + word);
  return pieces;
}

Vocabulary::Vocabulary() : Vocabulary(CandidatePieces(), false) {}

Vocabulary::Vocabulary(std::vector<std::string> pieces, bool exact)
    : pieces_(std::move(pieces)), exact_(exact) {
  CHECK(pieces_.size() >= kMinPieces);
}

void Vocabulary::Append(const Segment& segment, std::string& text) const {
  Random random(segment.key + kGolden);
  for (std::int32_t i = 0; i < segment.tokens; ++i) {
    // The high half times the size, halved again: even to within 2^-32 * size, without a division.
    const std::uint64_t high = random.Next() >> 32;
    text += pieces_[static_cast<std::size_t>((high * pieces_.size()) >> 32)];
  }
}

std::string Vocabulary::Text(const Message& message) const {
  std::string text = message.text;
  for (const Segment& segment : message.segments) Append(segment, text);
  return text;
}

}  // namespace banyan::loadtest
