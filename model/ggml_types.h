// Every tensor type a GGUF file may name, so that a file's bounds can be checked and its types
// named also where no kernel reads them yet (those of kernels::DType are the ones that run).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/tensor.h"

namespace banyan::model {

// Nothing for a number that the format does not define (or no longer defines).
std::optional<kernels::BlockShape> FindStoredType(std::uint32_t gguf_type);
// The name of a type that the format had and took back; empty for any other number.
std::string_view FindRemovedType(std::uint32_t gguf_type);
// Those that run, for messages: "F32, F16, ...".
std::string SupportedTypes();

}  // namespace banyan::model
