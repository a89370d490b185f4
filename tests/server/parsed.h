// What the command line of `banyan` made of its arguments.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "server/options.h"

namespace banyan::server {

// A failure of the test where they were refused.
template <class Options>
Options AcceptedAs(const Command& parsed) {
  if (const auto* exit = std::get_if<Exit>(&parsed)) {
    ADD_FAILURE() << exit->text;
    return {};
  }
  return std::get<Options>(parsed);
}

// The line that refuses them, or "accepted".
inline std::string RefusedLine(const Command& parsed) {
  const auto* exit = std::get_if<Exit>(&parsed);
  if (exit == nullptr) return "accepted";
  EXPECT_EQ(exit->code, 1);
  EXPECT_THAT(exit->text, ::testing::Not(::testing::HasSubstr("\n"))) << "one line";
  return exit->text;
}

}  // namespace banyan::server
