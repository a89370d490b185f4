// Every tensor type a GGUF file may name, so that a file's bounds can be checked and its types
// named also where no kernel reads them yet (those of kernels::DType are the ones that run).
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/tensor.h"

namespace banyan::model {

// Nothing for a number that the format does not define (or no longer defines).
std::optional<kernels::BlockShape> FindStoredType(std::uint32_t gguf_type);

}  // namespace banyan::model
