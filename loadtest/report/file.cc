#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

absl::Status Failed(const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A terminal, a pipe or another device: nothing may take its place.
absl::Status WriteToDevice(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return Failed(path);
  absl::Status status = WriteAll(file, bytes) ? absl::OkStatus() : Failed(path);
  ::close(file);
  return status;
}

// What a link leads to, so that it stays a link.
std::string Resolved(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string target = resolved == nullptr ? path : resolved;
  std::free(resolved);
  return target;
}

}  // namespace

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  struct stat found;
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) {
    errno = EISDIR;
    return Failed(path);
  }
  if (exists && !S_ISREG(found.st_mode)) return WriteToDevice(path, bytes);
  const std::string target = exists ? Resolved(path) : path;
  const std::string part = absl::StrCat(target, ".part", ::getpid());
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return Failed(path);
  absl::Status status = absl::OkStatus();
  // A full disk may say so as late as when the bytes are to be kept.
  if (!WriteAll(file, bytes) || ::fsync(file) != 0) status = Failed(path);
  if (::close(file) != 0 && status.ok()) status = Failed(path);
  if (status.ok() && ::rename(part.c_str(), target.c_str()) != 0) status = Failed(path);
  if (!status.ok()) ::unlink(part.c_str());
  return status;
}

}  // namespace banyan::loadtest
