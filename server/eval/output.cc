#include "server/eval/output.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"

namespace banyan::server {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": it cannot be written"));
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Where what is between them begins and ends.
struct Marks {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::optional<Marks> FindMarks(const std::string& page) {
  const std::size_t mark = page.find(kMarkBegin);
  if (mark == std::string::npos) return std::nullopt;
  const std::size_t end = page.find(kMarkEnd, mark);
  if (end == std::string::npos) return std::nullopt;
  return Marks{mark + kMarkBegin.size(), end};
}

}  // namespace

absl::Status CheckWritable(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const std::ofstream file(path, std::ios::binary | std::ios::app);
  return file ? absl::OkStatus() : CannotWrite(path);
}

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? absl::OkStatus() : CannotWrite(path);
}

absl::Status CheckMarks(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const std::string page = Content(path);
  if (page.empty() || FindMarks(page)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": it has something in it, but not the marks <!-- banyan eval --> and ",
                   std::string(kMarkEnd), " that the tables go between"));
}

absl::Status WriteBetweenMarks(const std::string& path, const std::string& text) {
  if (absl::Status status = CheckMarks(path); path.empty() || !status.ok()) return status;
  const std::string page = Content(path);
  if (page.empty()) return WriteWhole(path, text);
  const Marks marks = *FindMarks(page);
  return WriteWhole(
      path, absl::StrCat(page.substr(0, marks.begin), "\n", text, "\n", page.substr(marks.end)));
}

}  // namespace banyan::server
