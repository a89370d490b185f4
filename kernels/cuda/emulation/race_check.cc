#include "kernels/cuda/emulation/race_check.h"

namespace banyan::kernels::cuda::emulation {

bool RaceCheck::Group::Conflicts(const Access& access) const {
  if (!any || last.block_barriers != access.block_barriers) return false;
  if (many_warps || last.warp != access.warp) return true;
  if (last.warp_barriers != access.warp_barriers) return false;
  return many_threads || last.thread != access.thread;
}

void RaceCheck::Group::Add(const Access& access) {
  if (!any || last.block_barriers != access.block_barriers) {
    *this = {.any = true, .last = access, .other = access.thread};
    return;
  }
  if (last.warp != access.warp) {
    many_warps = true;
  } else if (last.warp_barriers != access.warp_barriers) {
    many_threads = false;
  } else if (last.thread != access.thread) {
    many_threads = true;
  }
  if (last.thread != access.thread) other = last.thread;
  last = access;
}

void RaceCheck::AddRegion(const std::byte* begin, std::size_t bytes) {
  regions_.push_back({begin, std::vector<Cell>(bytes)});
}

std::string RaceCheck::Check(const void* address, std::size_t bytes, Kind kind,
                             const Access& access) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Region& region : regions_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(region.begin);
    if (at < begin || at + bytes > begin + region.cells.size()) continue;
    for (std::size_t i = 0; i < bytes; ++i) {
      std::string wrong = CheckCell(region.cells[at - begin + i], kind, access);
      if (!wrong.empty())
        return wrong + ", byte " + std::to_string(at - begin + i) + " of " +
               std::to_string(region.cells.size());
    }
    return {};
  }
  return "access outside of shared memory by thread " + std::to_string(access.thread);
}

std::string RaceCheck::CheckCell(Cell& cell, Kind kind, const Access& access) {
  const auto race = [&](const char* first, const char* second, const Group& group) {
    return std::string("race: ") + first + " by thread " +
           std::to_string(group.OtherThan(access.thread)) + " and " + second + " by thread " +
           std::to_string(access.thread);
  };
  if (kind != Kind::kWrite && !cell.written)
    return "thread " + std::to_string(access.thread) + " reads what no thread wrote";
  const char* name = kind == Kind::kRead    ? "a read"
                     : kind == Kind::kWrite ? "a write"
                                            : "an atomic operation";
  if (cell.writes.Conflicts(access)) return race("a write", name, cell.writes);
  if (kind != Kind::kRead && cell.reads.Conflicts(access)) return race("a read", name, cell.reads);
  if (kind != Kind::kAtomic && cell.atomics.Conflicts(access))
    return race("an atomic operation", name, cell.atomics);
  Group& group = kind == Kind::kRead    ? cell.reads
                 : kind == Kind::kWrite ? cell.writes
                                        : cell.atomics;
  group.Add(access);
  cell.written = true;
  return {};
}

}  // namespace banyan::kernels::cuda::emulation
