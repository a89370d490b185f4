// The normal form on the Unicode standard's own cases; tests/text/toy_golden_test.cc and ./dev full
// compare it with the reference on many more.
#include "text/nfc.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan::text {
namespace {

TEST(Nfc, TextThatIsInTheFormStaysAsItIs) {
  for (const char* text : {"", "plain", "\u00e9\u00c5", "\uac00\ud7a3", "\u4e2d\U0001f44d"}) {
    EXPECT_EQ(ToNfc(text), std::nullopt) << text;
  }
  // Marks that nothing composes with come out as they went in.
  EXPECT_EQ(ToNfc("x\u0301"), "x\u0301");
}

TEST(Nfc, PairsCompose) {
  EXPECT_EQ(ToNfc("e\u0301"), "\u00e9");
  EXPECT_EQ(ToNfc("\u03b9\u0308\u0301"), "\u0390");
  EXPECT_EQ(ToNfc("\u212b"), "\u00c5");        // a singleton
  EXPECT_EQ(ToNfc("\u0958"), "\u0915\u093c");  // excluded from composition
}

TEST(Nfc, MarksAreOrderedByClassFirst) {
  EXPECT_EQ(ToNfc("d\u0307\u0323"), "\u1e0d\u0307");
  EXPECT_EQ(ToNfc("a\u0328\u0301"), "\u0105\u0301");
  EXPECT_EQ(ToNfc("a\u0301\u0301"), "\u00e1\u0301");  // the second is blocked
  EXPECT_EQ(ToNfc("\u0301a"), "\u0301a");             // nothing to compose with
}

TEST(Nfc, HangulIsPutTogether) {
  EXPECT_EQ(ToNfc("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(ToNfc("\ud558\u11ab"), "\ud55c");
  EXPECT_EQ(ToNfc("\ud55c\u11ab"), "\ud55c\u11ab");  // it has its tail
}

TEST(Nfc, AMegabyteOfMarksIsOrdered) {
  std::string text = "a";
  std::string low;
  std::string high;
  for (int i = 0; i < (1 << 18); ++i) {
    text += "\u0323\u0334";  // classes 220 and 1
    low += "\u0334";
    high += "\u0323";
  }
  // The first of class 220 composes with the letter, over the marks of class 1.
  EXPECT_EQ(ToNfc(text), "\u1ea1" + low + high.substr(2));
}

}  // namespace
}  // namespace banyan::text
