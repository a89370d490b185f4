// The architectures that run, by the name that a file gives in general.architecture.
//
// All are decoders. To add one: a file in families/ and a line in the table of families/families.h
// (docs/models.md).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/decoder_shape.h"
#include "model/model.h"
#include "model/settings.h"
#include "model/weights.h"

namespace banyan::model {

struct Architecture {
  std::string_view name;
  DecoderShape (*read)(Settings& settings, TensorSet& tensors);
};

std::span<const Architecture> Architectures();
// kInvalidArgument when the file names none, kUnimplemented when it names one that does not run.
absl::StatusOr<const Architecture*> FindArchitecture(const Metadata& metadata);

// The decoder that a file describes, or why LoadDecoder would refuse it, but for UnsupportedTypes.
// Reads no weights.
absl::StatusOr<DecoderShape> CheckDecoder(const Architecture& architecture, const File& file);
// Throws std::bad_alloc and std::system_error.
absl::StatusOr<std::unique_ptr<Model>> LoadDecoder(const Architecture& architecture,
                                                   const File& file, const Options& options);

}  // namespace banyan::model
