// Text whose tokens are known: pieces that are one token each for the served model, one after the
// other.
//
// With a server that offers /tokenize, pieces are chosen that it encodes to one token among others,
// and a sample is checked whole, so that n pieces are n tokens. Without: common English words,
// about one token each; reports then say that lengths are approximate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

// Words to choose from: short, lower case, common in every vocabulary.
const std::vector<std::string>& CandidateWords();
std::vector<std::string> CandidatePieces();  // each behind a space

class Vocabulary {
 public:
  static constexpr std::size_t kMinPieces = 16;

  Vocabulary();  // the candidates, each behind a space, not exact
  // `pieces`: at least kMinPieces, as they are written: " word".
  Vocabulary(std::vector<std::string> pieces, bool exact);

  // Appends the segment's text: so many pieces, chosen by its key.
  void Append(const Segment& segment, std::string& text) const;
  std::string Text(const Message& message) const;  // its text, or its segments'

  bool exact() const { return exact_; }
  std::size_t size() const { return pieces_.size(); }

 private:
  std::vector<std::string> pieces_;
  bool exact_;
};

}  // namespace banyan::loadtest
