// What --shape takes.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "server/plan/subject.h"

namespace banyan::server {

// "LAYERS,KV_HEADS,HEAD_DIM[,WINDOW...]", or "LAYERS,LATENT+ROPE[,WINDOW...]" for latent attention.
// The windows repeat until each layer has one; 0 sees all: "26,1,256,512,512,512,512,512,0" is
// Gemma 3 1B. kInvalidArgument says what is wrong, more windows than layers among it.
absl::StatusOr<CacheShape> ParseShape(std::string_view text);

}  // namespace banyan::server
