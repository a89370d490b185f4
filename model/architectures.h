// The architectures that run, by the name that a file gives in general.architecture.
//
// To add one: a network like llama.h with the shape it reads, a loader, and a line in
// architectures.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model.h"

namespace banyan::model {

struct Architecture {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<Model>> (*load)(const File& file, const Options& options);
};

std::span<const Architecture> Architectures();

absl::StatusOr<std::unique_ptr<Model>> LoadLlama(const File& file, const Options& options);

}  // namespace banyan::model
