// The bytes of a file, decompressed where it is an archive.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace banyan::loadtest {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next bytes, at most `size` >= 1 of them; 0 at the end. After an error it is not called
  // again.
  virtual absl::StatusOr<std::size_t> Read(char* to, std::size_t size) = 0;
};

// gzip and xz are known by their first bytes, or by .gz and .xz at the end of the name; several
// archives one after another are one. kNotFound, kPermissionDenied, kInvalidArgument; an archive
// that is damaged or cut short is found out where that shows, as kInvalidArgument.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenBytes(const std::string& path);

}  // namespace banyan::loadtest
