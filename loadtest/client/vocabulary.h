// Text whose tokens are known: words that are one token each, behind a space, for the served model.
//
// With a server that offers /tokenize, words are chosen that it encodes to one token alone and
// among others, and a sample is checked whole, so that n words are n tokens. Without: common
// English words, about one token each; reports then say that lengths are approximate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

// Words to choose from: short, lower case, common in every vocabulary.
const std::vector<std::string>& CandidateWords();

class Vocabulary {
 public:
  // `words`: at least 16, each one token behind a space.
  Vocabulary(std::vector<std::string> words, bool exact);

  // Appends the segment's text: tokens words, each behind a space.
  void Append(const Segment& segment, std::string& text) const;
  std::string Text(const Message& message) const;  // its text, or its segments'

  bool exact() const { return exact_; }

 private:
  std::vector<std::string> words_;  // " word"
  bool exact_;
};

}  // namespace banyan::loadtest
