// The configurations of known models in tests/server/configs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "server/plan/subject.h"

namespace banyan::server {

inline std::string ConfigPath(const std::string& name) {
  const char* data = std::getenv("BANYAN_TESTDATA");
  EXPECT_NE(data, nullptr) << "set BANYAN_TESTDATA to the folder tests/";
  return std::string(data == nullptr ? "." : data) + "/server/configs/" + name + ".json";
}

inline Subject KnownModelSubject(const std::string& name) {
  const absl::StatusOr<Subject> subject = ReadSubject(ConfigPath(name));
  EXPECT_TRUE(subject.ok()) << name << ": " << subject.status();
  return subject.value_or(Subject());
}

}  // namespace banyan::server
