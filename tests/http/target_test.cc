#include "http/target.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan::http {
namespace {

std::string Path(std::string_view target) {
  const auto parsed = ParseTarget(target);
  return parsed ? parsed->path : "(refused)";
}

TEST(ParseTarget, SplitsPathAndQuery) {
  const auto target = ParseTarget("/v1/models?limit=%31&x=?y");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/models");
  EXPECT_EQ(target->query, "limit=%31&x=?y");  // as it came
}

TEST(ParseTarget, DecodesPercentInThePath) {
  EXPECT_EQ(Path("/a%20b%2Fc+d"), "/a b/c+d");
  EXPECT_EQ(Path("/%C3%a9"), "/\xC3\xA9");
}

TEST(ParseTarget, RefusesBadEncoding) {
  for (const char* target : {"/%", "/%4", "/%zz", "/%4z", "/a%00b", "/%-1"}) {
    EXPECT_EQ(Path(target), "(refused)") << target;
  }
}

TEST(ParseTarget, DoesNotDecodeTheQuery) {
  const auto target = ParseTarget("/?%zz");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->query, "%zz");
}

TEST(ParseTarget, AcceptsTheAbsoluteForm) {
  EXPECT_EQ(Path("http://host:80/v1"), "/v1");
  EXPECT_EQ(Path("HTTPS://host/v1?q"), "/v1");
  EXPECT_EQ(Path("http://host"), "/");
  EXPECT_EQ(Path("http://host?q"), "(refused)");
}

TEST(ParseTarget, RefusesOtherForms) {
  for (const char* target : {"", "*", "host:80", "v1/models", "ftp://host/x", "/a#b"}) {
    EXPECT_EQ(Path(target), "(refused)") << target;
  }
}

}  // namespace
}  // namespace banyan::http
