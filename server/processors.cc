#include "server/processors.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/cpu/processors.h"

namespace banyan::server {
namespace {

using Path = std::filesystem::path;

std::string Line(const Path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// "150000 100000", or "max 100000" for no limit.
std::optional<double> Ratio(const std::string& quota_and_period) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(quota_and_period, absl::MaxSplits(' ', 1));
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!absl::SimpleAtoi(parts.first, &quota) || !absl::SimpleAtoi(parts.second, &period) ||
      quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(quota) / static_cast<double>(period);
}

// Of the group `path` and those that it lies in. Seen from within a container its path may lead
// nowhere; then the root of the mount is the container's own group.
template <class Read>
void TakeLeast(const Path& mount, const Path& path, const Read& read,
               std::optional<double>& least) {
  for (Path at = path.relative_path();; at = at.parent_path()) {
    if (const std::optional<double> limit = read(mount / at)) {
      least = std::min(*limit, least.value_or(*limit));
    }
    if (at.empty()) return;
  }
}

}  // namespace

std::optional<double> ProcessorQuota(const std::filesystem::path& root) {
  std::optional<double> least;
  const Path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  // Lines "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1).
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (parts[1].empty()) {
      TakeLeast(
          mount, parts[2], [](const Path& group) { return Ratio(Line(group / "cpu.max")); }, least);
    } else if (std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end()) {
      const auto read = [](const Path& group) {
        return Ratio(
            absl::StrCat(Line(group / "cpu.cfs_quota_us"), " ", Line(group / "cpu.cfs_period_us")));
      };
      TakeLeast(mount / parts[1], parts[2], read, least);
      TakeLeast(mount / "cpu", parts[2], read, least);
    }
  }
  return least;
}

std::int32_t UsableProcessors() {
  std::size_t count = kernels::AllowedProcessors().size();
  if (const std::optional<double> quota = ProcessorQuota()) {
    count = std::min(count, static_cast<std::size_t>(*quota));
  }
  return std::max(static_cast<std::int32_t>(count), 1);
}

}  // namespace banyan::server
