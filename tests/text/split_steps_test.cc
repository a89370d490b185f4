// The hand-written steps against the expressions that they stand for, run by PCRE2, on random texts
// of characters on whose classes PCRE2's Unicode and the reference's agree.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/split_steps.h"

#include <pcre2.h>

#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::text {
namespace {

// Unicode's White_Space; PCRE2's own \s has U+180E too, which is white space no more.
#define S \
  R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
#define SPACES "[" S R"(]*[\r\n]+|[)" S "]+(?![^" S "])|[" S "]+"
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS(letters, digits, signs, tail) \
  CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?)" letters "+|" digits "| ?" signs "+" tail "|" SPACES
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define CASED_WORDS(digits, suffix)                                                           \
  R"([^\r\n\p{L}\p{N}]?)" UPPER "*" LOWER "+" suffix R"(|[^\r\n\p{L}\p{N}]?)" UPPER "+" LOWER \
  "*" suffix "|" digits "| ?[^" S R"(\p{L}\p{N}]+[\r\n/]*|)" SPACES

struct Step {
  const char* name;
  SplitStep step;
  const char* pattern;
};

constexpr Step kSteps[] = {
    {"Gpt2Words", Gpt2Words,
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" S R"(\p{L}\p{N}]+|[)" S "]+(?![^" S
     "])|[" S "]+"},
    {"Cl100kWords", Cl100kWords,
     WORDS(R"(\p{L})", R"(\p{N}{1,3})", "[^" S R"(\p{L}\p{N}])", R"([\r\n]*)")},
    {"Qwen2Words", Qwen2Words,
     WORDS(R"(\p{L})", R"(\p{N})", "[^" S R"(\p{L}\p{N}])", R"([\r\n]*)")},
    {"Qwen35Words", Qwen35Words,
     WORDS(R"([\p{L}\p{M}])", R"(\p{N})", "[^" S R"(\p{L}\p{M}\p{N}])", R"([\r\n]*)")},
    {"SeedCoderWords", SeedCoderWords, WORDS(R"(\p{L})", R"(\p{N})", "[^" S R"(\p{L}\p{N}])", "")},
    {"TekkenWords", TekkenWords, CASED_WORDS(R"(\p{N})", "")},
    {"O200kWords", O200kWords, CASED_WORDS(R"(\p{N}{1,3})", CONTRACTIONS "?")},
    {"DeepSeekV3Words", DeepSeekV3Words,
     R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
     R"(| ?[\p{P}\p{S}]+[\r\n]*|)" SPACES},
    {"EachDigit", EachDigit, R"(\p{N})"},
    {"NumbersOfThree", NumbersOfThree, R"(\p{N}{1,3})"},
    {"EachNewline", EachNewline, R"([\r\n])"},
    {"LettersAfterSpace", LettersAfterSpace, "[" S R"(]?\p{L}+)"},
    {"SignsAfterSpace", SignsAfterSpace, "[" S R"(]?\p{P}+)"},
    {"AsciiSignsAfterSpace", AsciiSignsAfterSpace,
     "[" S R"(]?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)"},
    {"SpacesAtTheEnd", SpacesAtTheEnd, "[" S R"(]+\z)"},
    {"Ideographs", Ideographs, R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)"},
    {"IdeographsAndKana", IdeographsAndKana,
     R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"},
    {"Threes", Threes, "[0-9][0-9][0-9]"},
};

class Expression {
 public:
  explicit Expression(const char* pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    EXPECT_NE(code_, nullptr) << pattern << " at " << offset;
    match_.reset(pcre2_match_data_create(1, nullptr));
  }

  std::vector<std::string> Split(std::string_view text) const {
    std::vector<std::string> runs;
    std::size_t at = 0;
    while (at < text.size()) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                    text.size(), at, 0, match_.get(), nullptr);
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match_.get());
      const std::size_t begin = found < 0 ? text.size() : bounds[0];
      if (begin > at) runs.emplace_back(text.substr(at, begin - at));
      if (found < 0) break;
      runs.emplace_back(text.substr(begin, bounds[1] - begin));
      at = bounds[1];
    }
    return runs;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

std::vector<std::string> Runs(SplitStep step, std::string_view text) {
  std::vector<std::string> runs;
  step(text, [&](std::string_view run) { runs.emplace_back(run); });
  return runs;
}

// Every class, and the characters that the expressions name.
constexpr const char* kCharacters[] = {
    " ",      " ",      " ",      "\n",     "\r",     "\t",         "\u00a0",     "\u3000",
    "\u2028", "'",      "'",      "s",      "S",      "\u017f",     "r",          "e",
    "l",      "L",      "d",      "a",      "Z",      "A",          "\u00e9",     "\u00c9",
    "\u01c5", "\u02b0", "\u0915", "\u4e2d", "\u3042", "\uac00",     "\u0301",     "\u093f",
    "\u20dd", "0",      "7",      "9",      "\u00bd", "\u0663",     "\u2167",     "!",
    "/",      ".",      "-",      "+",      "$",      "<",          "\u20ac",     "\u3001",
    "\u2019", "\uff01", "\u200b", "\x01",   "\u0378", "\U0001f44d", "\U00010400", "\U0001d7ce",
};

TEST(SplitSteps, CutWhereTheirExpressionsDo) {
  std::mt19937 random(20260101);
  for (const Step& step : kSteps) {
    const Expression expression(step.pattern);
    for (int round = 0; round < 4000; ++round) {
      std::string text;
      const char* last = "a";
      for (std::size_t n = random() % 16; n > 0; --n) {
        if (random() % 4 != 0) last = kCharacters[random() % std::size(kCharacters)];
        text += last;  // often the same again
      }
      ASSERT_EQ(Runs(step.step, text), expression.Split(text))
          << step.name << testing::PrintToString(text);
    }
  }
}

TEST(SplitSteps, LongTextsOfAnythingAreCutInLinearTime) {
  for (const Step& step : kSteps) {
    for (const std::string part :
         {" ", "\n", " \n", "a", "A", "aA", "1", "!", "'", "\u0301", "\u3000", "\u3000a", "\x01"}) {
      std::string text;
      while (text.size() < (1 << 18)) text += part;
      std::size_t bytes = 0;
      step.step(text + "x", [&](std::string_view run) { bytes += run.size(); });
      EXPECT_EQ(bytes, text.size() + 1);
    }
  }
}

TEST(SplitSteps, FalconsDigitsAreBytes) {
  using testing::ElementsAre;
  EXPECT_THAT(Runs(FalconDigits, "a12\xC2\xBD"), ElementsAre("a", "12", "\xC2", "\xBD"));
  EXPECT_THAT(Runs(FalconDigits, "\xD0\xBC\xD0\xB8"), ElementsAre("\xD0", "\xBC", "\xD0\xB8"));
  EXPECT_THAT(Runs(PunctuationRuns, "a,b..c\u3002"),
              ElementsAre("a", ",", "b", "..", "c", "\u3002"));
}

TEST(SplitSteps, ClassesAreTheReferencesNotPcre2s) {
  using testing::ElementsAre;
  // A letter of Unicode 15, and U+180E, which is no white space.
  EXPECT_THAT(Runs(Gpt2Words, "a\U00031350"), ElementsAre("a\U00031350"));
  EXPECT_THAT(Runs(Gpt2Words, "a\u180e b"), ElementsAre("a", "\u180e", " b"));
}

}  // namespace
}  // namespace banyan::text
