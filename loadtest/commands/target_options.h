// The options that say which server is asked, and how.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "absl/status/statusor.h"
#include "loadtest/client/target.h"

namespace banyan::loadtest {

// As typed.
struct TypedTarget {
  std::string url;
  std::string model;
  std::string api = "chat";
  std::string api_key;
  std::vector<std::string> headers;
  std::string ca_file;
  bool insecure = false;
};

// `typed` outlives the app.
void AddTargetOptions(CLI::App& app, TypedTarget& typed);

// kInvalidArgument says which option is wrong.
absl::StatusOr<TargetOptions> ReadTarget(const TypedTarget& typed);

// A connection is a file: lets this process have as many as the system allows.
void RaiseFileLimit();

}  // namespace banyan::loadtest
