// The architectures that run, by the name that a file gives in general.architecture.
//
// To add one: a network like llama.h with the shape it reads, a check, a loader, and a line in
// architectures.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model.h"

namespace banyan::model {

struct Architecture {
  std::string_view name;
  // Why `load` would refuse the file, as far as that can be known without its weights.
  absl::Status (*check)(const File& file);
  absl::StatusOr<std::unique_ptr<Model>> (*load)(const File& file, const Options& options);
};

std::span<const Architecture> Architectures();
// kInvalidArgument when the file names none, kUnimplemented when it names one that does not run.
absl::StatusOr<const Architecture*> FindArchitecture(const Metadata& metadata);

absl::Status CheckLlama(const File& file);
absl::StatusOr<std::unique_ptr<Model>> LoadLlama(const File& file, const Options& options);

}  // namespace banyan::model
