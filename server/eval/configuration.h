// What `banyan eval` compares: a format of the KV pages, and which of them a text keeps.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kv_shape.h"
#include "scheduler/scheduler.h"

namespace banyan::server {

struct Configuration {
  std::string name;  // as typed: "int8"
  kernels::KvFormat format = kernels::KvFormat::kF16;
  std::optional<scheduler::KvPolicy> policy{};  // none: everything is kept
};

inline constexpr std::size_t kMaxConfigurations = 32;

// A list as "f16,int8,f16+streaming:sinks=4,window=1024": each a format, which a policy of what a
// text keeps may follow, with its values. Exact f16, which the others are compared with, comes
// first whether it is named or not. kInvalidArgument names what is empty, not known, there twice
// or too many.
absl::StatusOr<std::vector<Configuration>> ParseConfigurations(std::string_view list);

// Of every format.
std::string AllConfigurations();

}  // namespace banyan::server
