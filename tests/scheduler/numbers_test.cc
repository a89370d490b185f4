#include "scheduler/numbers.h"

#include <gtest/gtest.h>

namespace banyan::scheduler {
namespace {

TEST(Numbers, AreTheLeastThatAreNotOut) {
  Numbers numbers;
  for (std::int32_t i = 0; i < 4; ++i) EXPECT_EQ(numbers.Take(), i);
  EXPECT_EQ(numbers.out(), 4);
  numbers.GiveBack(1);
  numbers.GiveBack(3);
  EXPECT_EQ(numbers.out(), 2);
  EXPECT_EQ(numbers.Take(), 3) << "the last one back goes out first";
  EXPECT_EQ(numbers.Take(), 1);
  EXPECT_EQ(numbers.Take(), 4);
  EXPECT_EQ(numbers.out(), 5);
}

TEST(NumbersDeathTest, WhatIsNotOutDoesNotComeBack) {
  Numbers numbers;
  EXPECT_DEATH(numbers.GiveBack(0), "CHECK failed");
  numbers.GiveBack(numbers.Take());
  EXPECT_DEATH(numbers.GiveBack(0), "CHECK failed");
  EXPECT_DEATH(numbers.GiveBack(-1), "CHECK failed");
}

}  // namespace
}  // namespace banyan::scheduler
