#include "loadtest/client/vocabulary.h"

#include <utility>

#include "base/check.h"

namespace banyan::loadtest {
namespace {

std::vector<std::string> CandidatePieces() {
  std::vector<std::string> pieces;
  for (const std::string& word : CandidateWords()) pieces.push_back(" " + word);
  return pieces;
}

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t Next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Vocabulary::Vocabulary() : Vocabulary(CandidatePieces(), false) {}

Vocabulary::Vocabulary(std::vector<std::string> pieces, bool exact)
    : pieces_(std::move(pieces)), exact_(exact) {
  CHECK(pieces_.size() >= kMinPieces);
}

void Vocabulary::Append(const Segment& segment, std::string& text) const {
  // Keys that differ little must not begin sequences that overlap: the state is a mix of the key.
  std::uint64_t state = segment.key;
  state = Next(state);
  for (std::int32_t i = 0; i < segment.tokens; ++i) {
    // The high half times the size, halved again: even to within 2^-32 * size, without a division.
    const std::uint64_t high = Next(state) >> 32;
    text += pieces_[static_cast<std::size_t>((high * pieces_.size()) >> 32)];
  }
}

std::string Vocabulary::Text(const Message& message) const {
  std::string text = message.text;
  for (const Segment& segment : message.segments) Append(segment, text);
  return text;
}

}  // namespace banyan::loadtest
