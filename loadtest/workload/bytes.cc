#include "loadtest/workload/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <boost/iostreams/device/file_descriptor.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace banyan::loadtest {
namespace {

namespace io = boost::iostreams;

enum class Packing : std::uint8_t { kNone, kGzip, kXz };

class File final : public ByteSource {
 public:
  // Takes `descriptor`.
  File(int descriptor, Packing packing) : packing_(packing) {
    if (packing == Packing::kGzip) chain_.push(io::gzip_decompressor());
    if (packing == Packing::kXz) chain_.push(io::lzma_decompressor());
    chain_.push(io::file_descriptor_source(descriptor, io::close_handle));
  }

  absl::StatusOr<std::size_t> Read(char* to, std::size_t size) override {
    try {
      const std::streamsize got = chain_.sgetn(to, static_cast<std::streamsize>(size));
      return got < 0 ? 0 : static_cast<std::size_t>(got);
    } catch (const std::exception& fault) {
      return absl::InvalidArgumentError(absl::StrCat(packing_ == Packing::kNone
                                                         ? "it cannot be read: "
                                                         : "the archive is damaged or cut short: ",
                                                     fault.what()));
    }
  }

 private:
  const Packing packing_;
  io::filtering_streambuf<io::input> chain_;
};

// A pipe has no first bytes to look at; its name decides.
Packing FindPacking(int descriptor, std::string_view path) {
  std::array<char, 6> bytes{};
  const ssize_t got = pread(descriptor, bytes.data(), bytes.size(), 0);
  const std::string_view first(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  if (path.ends_with(".gz") || first.starts_with("\x1f\x8b")) return Packing::kGzip;
  if (path.ends_with(".xz") || first == std::string_view("\xfd"
                                                         "7zXZ\0",
                                                         6))
    return Packing::kXz;
  return Packing::kNone;
}

absl::Status CannotOpen(const std::string& path, int error) {
  const absl::Status status = absl::ErrnoToStatus(error, path);
  if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) return status;
  return absl::InvalidArgumentError(status.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenBytes(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return CannotOpen(path, errno);
  struct stat about {};
  if (fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory"));
  }
  return std::make_unique<File>(descriptor, FindPacking(descriptor, path));
}

}  // namespace banyan::loadtest
