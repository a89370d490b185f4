// CHECK: aborts on a programmer's error, in every build. Never used on foreign input, which gets
// an absl::Status instead. DCHECK is the same in debug builds and nothing in release builds.
#pragma once

namespace banyan {

// Prints "file:line: CHECK failed: what" to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* what);

}  // namespace banyan

#define CHECK(condition)                                     \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::banyan::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition)         \
  do {                            \
    if (false) (void)(condition); \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif
