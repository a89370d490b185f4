#include "http/router.h"

#include "gtest/gtest.h"

namespace banyan::http {
namespace {

Server::Route Route(std::string method, std::string path) {
  return {std::move(method), std::move(path),
          [](const Request&, Responder&) -> boost::asio::awaitable<void> { co_return; }};
}

std::vector<Server::Route> Routes() {
  return {Route("GET", "/v1/*"), Route("GET", "/v1/models"), Route("GET", "/v1/models/*"),
          Route("DELETE", "/v1/models/*"), Route("POST", "/v1/completions")};
}

TEST(Router, AnExactPathWinsOverAPrefixAndALongPrefixOverAShortOne) {
  const Router router(Routes());
  const Handler* any = router.Find("GET", "/v1/other").handler;
  const Handler* list = router.Find("GET", "/v1/models").handler;
  const Handler* one = router.Find("GET", "/v1/models/a/b").handler;
  ASSERT_NE(any, nullptr);
  ASSERT_NE(list, nullptr);
  ASSERT_NE(one, nullptr);
  EXPECT_NE(any, list);
  EXPECT_NE(any, one);
  EXPECT_NE(list, one);
}

TEST(Router, APrefixWantsSomethingBehindIt) {
  const Router router({Route("GET", "/v1/models/*")});
  EXPECT_EQ(router.Find("GET", "/v1/models/").handler, nullptr);
  EXPECT_EQ(router.Find("GET", "/v1/models").handler, nullptr);
  EXPECT_NE(router.Find("GET", "/v1/models/x").handler, nullptr);
}

TEST(Router, NamesTheMethodsOfAPath) {
  const Router router(Routes());
  const Router::Match match = router.Find("PUT", "/v1/models/x");
  EXPECT_EQ(match.handler, nullptr);
  EXPECT_EQ(match.allow, "GET, HEAD, DELETE");
  EXPECT_EQ(router.Find("GET", "/v1/completions").allow, "POST");
  EXPECT_EQ(router.Find("GET", "/").allow, "");
}

TEST(Router, HeadFindsTheHandlerOfGet) {
  const Router router(Routes());
  EXPECT_EQ(router.Find("HEAD", "/v1/models").handler, router.Find("GET", "/v1/models").handler);
  EXPECT_EQ(router.Find("HEAD", "/v1/completions").handler, nullptr);
}

TEST(RouterDeathTest, RefusesRoutesThatCannotBeMeant) {
  EXPECT_DEATH(Router({Route("GET", "v1")}), "CHECK failed");
  EXPECT_DEATH(Router({Route("GET", "/v1"), Route("GET", "/v1")}), "CHECK failed");
  EXPECT_DEATH(Router({{"GET", "/v1", nullptr}}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::http
