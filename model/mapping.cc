#include "model/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::model {
namespace {

absl::Status SystemError(const char* what) {
  const int error = errno;
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

absl::StatusOr<std::size_t> RegularFileSize(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return SystemError("it cannot be read");
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError("it is not a regular file");
  }
  if (facts.st_size == 0) return absl::InvalidArgumentError("it is empty");
  return static_cast<std::size_t>(facts.st_size);
}

}  // namespace

absl::StatusOr<Mapping> Mapping::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError("it cannot be opened");
  const absl::StatusOr<std::size_t> size = RegularFileSize(fd);
  if (!size.ok()) {
    ::close(fd);
    return size.status();
  }
  void* const data = ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (data == MAP_FAILED) return SystemError("it cannot be mapped");
  Mapping mapping;
  mapping.data_ = static_cast<const std::byte*>(data);
  mapping.size_ = *size;
  return mapping;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void Mapping::Release(std::span<const std::byte> bytes) const {
  // Memory that is not the mapping's own would lose what it holds.
  if (data_ == nullptr) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes.size()) / page * page;
  // Advice only: where it is refused, the memory stays resident and nothing else changes.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace banyan::model
