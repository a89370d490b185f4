#include "base/quote.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan {
namespace {

TEST(Quote, IsOneLineAndBounded) {
  EXPECT_EQ(Quote("a\n'b'"), "'a\\n\\'b\\''");
  EXPECT_EQ(Quote(std::string(kMaxQuotedBytes, 'x')),
            '\'' + std::string(kMaxQuotedBytes, 'x') + '\'');
  EXPECT_EQ(Quote(std::string(kMaxQuotedBytes + 1, 'x')),
            '\'' + std::string(kMaxQuotedBytes, 'x') + "...'");
  // No character is cut in two.
  EXPECT_EQ(Quote(std::string(kMaxQuotedBytes - 1, 'x') + "\u00e9"),
            '\'' + std::string(kMaxQuotedBytes - 1, 'x') + "...'");
  EXPECT_EQ(Quote("\xFF"), "'\\377'");
}

TEST(QuoteWhereNeeded, LeavesHarmlessTextAsItIs) {
  EXPECT_EQ(QuoteWhereNeeded("na\u00efve (7B)"), "na\u00efve (7B)");
  EXPECT_EQ(QuoteWhereNeeded(""), "");
  EXPECT_EQ(QuoteWhereNeeded("a\nb"), "'a\\nb'");
  EXPECT_EQ(QuoteWhereNeeded(std::string(kMaxQuotedBytes, 'x')), std::string(kMaxQuotedBytes, 'x'));
  EXPECT_EQ(QuoteWhereNeeded(std::string(kMaxQuotedBytes + 1, 'x')),
            Quote(std::string(kMaxQuotedBytes + 1, 'x')));
}

TEST(OnOneLine, PutsASpaceForEachControlCharacter) {
  EXPECT_EQ(OnOneLine("a\r\nb\tc\x1b[2J\x7f"), "a  b c [2J ");
  EXPECT_EQ(OnOneLine("\u00e9 ~"), "\u00e9 ~");
  EXPECT_EQ(OnOneLine(""), "");
}

}  // namespace
}  // namespace banyan
