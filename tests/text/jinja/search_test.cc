// Searching, against the standard library's on texts that cross the windows.
#include "text/jinja/search.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace banyan::text::jinja {
namespace {

TEST(Search, FindsWhatTheStandardLibraryFinds) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 20000, 'a');
    for (std::size_t i = random() % 50; i < text.size(); i += 1 + random() % 5000) text[i] = 'b';
    const std::string wanted = random() % 3 == 0 ? text.substr(text.size() / 2, random() % 6000)
                                                 : std::string(random() % 4000, 'a') + "b" +
                                                       std::string(random() % 9, 'a');
    Budget budget;
    const BackwardSearch backward(budget, text, wanted);
    for (int i = 0; i < 5; ++i) {
      const std::size_t at = random() % (text.size() + 2);
      EXPECT_EQ(FindText(text, wanted, at), text.find(wanted, at));
      const std::size_t end = std::min(at, text.size());
      const std::size_t last = std::string_view(text).substr(0, end).rfind(wanted);
      EXPECT_EQ(backward.Before(end), last);
    }
  }
}

TEST(Search, NothingIsFoundEverywhereUpToTheEnd) {
  EXPECT_EQ(FindText("abc", "", 0), 0u);
  EXPECT_EQ(FindText("abc", "", 3), 3u);
  EXPECT_EQ(FindText("abc", "", 4), std::string_view::npos);
  EXPECT_EQ(FindText("", "a", 0), std::string_view::npos);
}

}  // namespace
}  // namespace banyan::text::jinja
