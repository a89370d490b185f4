// Aborts on a programmer's error, in every build: this room's own, for it depends on no other.
#pragma once

namespace banyan::kernels {

[[noreturn]] void RequireFailed(const char* what);

// `what` says which rule the caller broke.
inline void Require(bool holds, const char* what) {
  if (!holds) [[unlikely]]
    RequireFailed(what);
}

}  // namespace banyan::kernels
