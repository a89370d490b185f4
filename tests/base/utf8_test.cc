#include "base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan {
namespace {

std::string Utf8Of(std::uint32_t code) {
  std::string out;
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](int shift) {
    for (; shift >= 0; shift -= 6) put(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put_rest(0);
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put_rest(6);
  } else {
    put(0xF0 | (code >> 18));
    put_rest(12);
  }
  return out;
}

TEST(Utf8, EveryCodePointIsACharacterAndSurrogatesAreNot) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string bytes = Utf8Of(code);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(FirstInvalidUtf8(bytes), surrogate ? 0 : std::string::npos) << std::hex << code;
    if (surrogate) continue;
    const Utf8Step whole = NextUtf8(bytes);
    ASSERT_EQ(whole.form, Utf8Form::kCharacter);
    ASSERT_EQ(whole.length, bytes.size());
    for (std::size_t length = 1; length < bytes.size(); ++length) {
      const Utf8Step part = NextUtf8(std::string_view(bytes).substr(0, length));
      ASSERT_EQ(part.form, Utf8Form::kUnfinished);
      ASSERT_EQ(part.length, length);
    }
  }
}

TEST(Utf8, OverlongFormsAndNumbersPastTheLastAreIllFormedFromTheirFirstByte) {
  for (const std::string bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                                  "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\x80", "\xBF"}) {
    const Utf8Step step = NextUtf8(bytes);
    EXPECT_EQ(step.form, Utf8Form::kIllFormed) << testing::PrintToString(bytes);
    EXPECT_EQ(step.length, 1);
  }
}

TEST(Utf8, TheFirstInvalidByteIsFoundBehindAnyNumberOfCharacters) {
  for (std::size_t before = 0; before < 40; ++before) {
    EXPECT_EQ(FirstInvalidUtf8(std::string(before, 'a') + "\xFF" + "bcdefghijk"), before);
    EXPECT_EQ(FirstInvalidUtf8(std::string(before, 'a') + "\u00e9\xC3"), before + 2);
    EXPECT_EQ(FirstInvalidUtf8(std::string(before, 'a') + "\u00e9"), std::string::npos);
  }
  EXPECT_EQ(FirstInvalidUtf8(""), std::string::npos);
}

TEST(CountCharacters, CountsEachOnceWhateverItsLength) {
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("a\u00e9\u20ac\U0001F44D"), 4u);
  EXPECT_EQ(CountCharacters("\x82\xac!"), 1u);  // the end of one that began before
}

TEST(ToValidUtf8, KeepsWhatIsWellFormed) {
  const std::string text =
      "a\x7F \xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 "
      "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF";
  EXPECT_EQ(ToValidUtf8(text), text);
}

TEST(ToValidUtf8, ReplacesEachMaximalRunOfWhatIsNot) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidUtf8("\xC0\x80"), bad + bad);                      // overlong NUL
  EXPECT_EQ(ToValidUtf8("\xE0\x9F\xBF"), bad + bad + bad);            // overlong
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(ToValidUtf8("\x80x\xFF"), bad + "x" + bad);
  EXPECT_EQ(ToValidUtf8("x\xE2\x82"), "x" + bad);  // cut short
  EXPECT_EQ(ToValidUtf8("\xC3("), bad + "(");
}

}  // namespace
}  // namespace banyan
