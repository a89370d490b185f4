// The steps of which pre-tokenizers are made. Each cuts a text into runs that follow one another
// without gaps; a chain of steps cuts the runs of one with the next, which sees each run alone.
//
// The reference describes a step by a regular expression and cuts out its matches; what no match
// covers is a run of its own. Here each is a function written by hand: it decides by the classes of
// a few characters and looks at no character more than a fixed number of times, so a step's time is
// linear in the text. tests/text/split_steps_test.cc has the expressions and compares.
//
// Stateless, thread-safe. `text` must be UTF-8, but for FalconDigits and Threes, which see bytes.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"

namespace banyan::text {

using EmitRun = absl::FunctionRef<void(std::string_view)>;
using SplitStep = void (*)(std::string_view text, EmitRun emit);

// Words with the space before them, numbers, signs, white space:
void Gpt2Words(std::string_view text, EmitRun emit);        // GPT-2's own
void Cl100kWords(std::string_view text, EmitRun emit);      // GPT-4's, Llama 3's
void Qwen2Words(std::string_view text, EmitRun emit);       // its digits stand alone
void Qwen35Words(std::string_view text, EmitRun emit);      // and marks belong to words
void SeedCoderWords(std::string_view text, EmitRun emit);   // and signs take no line end
void TekkenWords(std::string_view text, EmitRun emit);      // capitals begin words
void O200kWords(std::string_view text, EmitRun emit);       // GPT-4o's
void DeepSeekV3Words(std::string_view text, EmitRun emit);  // what lies between the other steps

// One kind of run each:
void EachDigit(std::string_view text, EmitRun emit);             // every number alone
void NumbersOfThree(std::string_view text, EmitRun emit);        // up to three at a time
void EachNewline(std::string_view text, EmitRun emit);           // every \r and \n alone
void LettersAfterSpace(std::string_view text, EmitRun emit);     // one white space, letters
void SignsAfterSpace(std::string_view text, EmitRun emit);       // one white space, punctuation
void CasedAfterSpace(std::string_view text, EmitRun emit);       // DeepSeek LLM's own letters
void AsciiSignsAfterSpace(std::string_view text, EmitRun emit);  // and its own signs
void SpacesAtTheEnd(std::string_view text, EmitRun emit);
void Ideographs(std::string_view text, EmitRun emit);         // DeepSeek's first: CJK and more
void IdeographsAndKana(std::string_view text, EmitRun emit);  // and that of V3
void PunctuationRuns(std::string_view text, EmitRun emit);
void FalconDigits(std::string_view text,
                  EmitRun emit);                   // the reference sees bytes spelled as letters
void Threes(std::string_view text, EmitRun emit);  // three ASCII digits at a time

}  // namespace banyan::text
