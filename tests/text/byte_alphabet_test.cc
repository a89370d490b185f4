#include "text/byte_alphabet.h"

#include <optional>
#include <string>

#include "base/utf8.h"
#include "gtest/gtest.h"

namespace banyan::text {
namespace {

TEST(ByteAlphabet, EveryByteHasALetterOfItsOwnThatReadsBack) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string letter = SpellBytes({&c, 1});
    EXPECT_EQ(BytesOfSpelling(letter), std::string(1, c)) << byte;
    EXPECT_EQ(FirstInvalidUtf8(letter), std::string::npos);
  }
  EXPECT_EQ(SpellBytes(" a\n\u00e9"), "\u0120a\u010a\u00c3\u00a9");
}

TEST(ByteAlphabet, SpellingsWithOtherCharactersHaveNoBytes) {
  for (const std::string spelling :
       {" ", "a b", "\n", "\u00a0", "\u00ad", "\u0144", "\u4e2d", "a\xC4", "\xFF", "\xC1\xA1"}) {
    EXPECT_EQ(BytesOfSpelling(spelling), std::nullopt) << testing::PrintToString(spelling);
  }
  EXPECT_EQ(BytesOfSpelling("\u0143"), "\xAD");
}

}  // namespace
}  // namespace banyan::text
