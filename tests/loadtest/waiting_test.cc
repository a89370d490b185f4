#include "loadtest/run/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

namespace banyan::loadtest {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;

class WaitingTest : public ::testing::Test {
 protected:
  // Takes a place, says so, and keeps it.
  void Spawn(Waiting& waiting, int name) {
    auto enter = [](Waiting& w, int n, std::vector<int>& log) -> asio::awaitable<void> {
      const bool entered = co_await w.Enter();
      log.push_back(entered ? n : -n);
    };
    asio::co_spawn(io_, enter(waiting, name, log_), asio::detached);
    Poll();
  }

  void Poll() {
    io_.restart();
    io_.poll();
  }

  asio::io_context io_;
  std::vector<int> log_;
};

TEST_F(WaitingTest, PlacesAreBoundedAndGoInOrder) {
  Waiting waiting(io_.get_executor(), 2);
  for (int name = 1; name <= 4; ++name) Spawn(waiting, name);
  EXPECT_THAT(log_, ElementsAre(1, 2));
  waiting.Leave();
  Poll();
  EXPECT_THAT(log_, ElementsAre(1, 2, 3));
  waiting.Leave();
  Spawn(waiting, 5);
  EXPECT_THAT(log_, ElementsAre(1, 2, 3, 4)) << "who comes later does not go first";
  waiting.Leave();
  Poll();
  EXPECT_THAT(log_, ElementsAre(1, 2, 3, 4, 5));
  waiting.Leave();
  Spawn(waiting, 6);
  EXPECT_EQ(log_.back(), 6);
}

TEST_F(WaitingTest, StopEndsAllWaiting) {
  Waiting waiting(io_.get_executor(), 1);
  Spawn(waiting, 1);
  Spawn(waiting, 2);
  bool came = true;
  auto sleep = [&]() -> asio::awaitable<void> {
    came = co_await waiting.Until(std::chrono::steady_clock::now().time_since_epoch() +
                                  std::chrono::hours(1));
  };
  asio::co_spawn(io_, sleep, asio::detached);
  Poll();
  waiting.Stop();
  Poll();
  EXPECT_FALSE(came);
  EXPECT_THAT(log_, ElementsAre(1, -2));
  Spawn(waiting, 3);
  EXPECT_EQ(log_.back(), -3);
}

TEST_F(WaitingTest, ATimeThatIsPastIsNow) {
  Waiting waiting(io_.get_executor(), 1);
  bool came = false;
  auto sleep = [&]() -> asio::awaitable<void> { came = co_await waiting.Until(Tick(1)); };
  asio::co_spawn(io_, sleep, asio::detached);
  Poll();
  EXPECT_TRUE(came);
}

}  // namespace
}  // namespace banyan::loadtest
