#include "base/html.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace banyan {
namespace {

using std::string_view_literals::operator""sv;

TEST(Html, TextStaysAsItIs) {
  EXPECT_EQ(EscapeHtml(""), "");
  EXPECT_EQ(EscapeHtml("4 sinks, 508 keys: +3.8 % 'über'"), "4 sinks, 508 keys: +3.8 % 'über'");
}

TEST(Html, WhatWouldEndTextOrAnAttributeIsEscaped) {
  EXPECT_EQ(EscapeHtml(R"(<a href="x">&amp;</a>)"),
            "&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;");
}

TEST(Html, ControlCharactersAreSpaces) {
  EXPECT_EQ(EscapeHtml("a\0b\x1f"
                       "c\nd\x20"
                       "e"sv),
            "a b c d e");
}

TEST(Html, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(EscapeHtml("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
}

}  // namespace
}  // namespace banyan
