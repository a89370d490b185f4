// How many processors this process can make use of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace banyan::server {

// Those of its affinity mask, and no more than its control group has processor time for, rounded
// down: a thread too many would have all of them stopped for a part of each period. At least 1.
std::int32_t UsableProcessors();

// Processor time per time that the control groups of this process allow, the least of them; nothing
// when there is no limit. cgroups of both versions, as mounted under `root`.
std::optional<double> ProcessorQuota(const std::filesystem::path& root = "/");

}  // namespace banyan::server
