#include "server/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <string>
#include <thread>

namespace banyan::server {
namespace {

namespace fs = std::filesystem;

// A system's files, as a process in some control group sees them.
class QuotaTest : public ::testing::Test {
 protected:
  QuotaTest() : root_(fs::path(::testing::TempDir()) / "banyan_processors_test") {
    fs::remove_all(root_);
  }
  ~QuotaTest() override { fs::remove_all(root_); }

  void Write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::optional<double> Quota() const { return ProcessorQuota(root_); }

  const fs::path root_;
};

TEST_F(QuotaTest, ThereIsNoneWithoutControlGroups) { EXPECT_EQ(Quota(), std::nullopt); }

TEST_F(QuotaTest, Version2) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
  Write("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota(), 1.5) << "the least of all that it lies in";
  Write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(QuotaTest, AContainerSeesItsOwnGroupAtTheMount) {
  Write("proc/self/cgroup", "0::/docker/0123\n");
  Write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(Quota(), 3.0);
}

TEST_F(QuotaTest, Version1) {
  Write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n");
  Write("sys/fs/cgroup/memory/m/cpu.cfs_quota_us", "1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(Quota(), 2.5);
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 2.0) << "the mount may have the short name";
}

TEST_F(QuotaTest, WhatCannotBeReadIsNoLimit) {
  for (const char* text :
       {"", "max", "100000", "a 100000", "100000 0", "0 100000", "1 -1", "1 2 3"}) {
    Write("proc/self/cgroup", "0::/\nnonsense\n");
    Write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(Quota(), std::nullopt) << text;
  }
}

TEST(UsableProcessors, AreAtLeastOneAndFollowTheAffinityMask) {
  EXPECT_GE(UsableProcessors(), 1);
  std::thread([] {
    cpu_set_t one;
    sched_getaffinity(0, sizeof one, &one);
    int first = 0;
    while (!CPU_ISSET(first, &one)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(UsableProcessors(), 1);
  }).join();
}

}  // namespace
}  // namespace banyan::server
