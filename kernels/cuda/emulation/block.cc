#include "kernels/cuda/emulation/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/cuda/emulation/trial.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda::emulation {
namespace {

constexpr int kUnwritten = 0xff;

std::string Text(const uint3& index) {
  std::string text = "(";
  text += std::to_string(index.x) + ", " + std::to_string(index.y) + ", ";
  return text += std::to_string(index.z) + ")";
}

unsigned CountOf(const dim3& d) { return d.x * d.y * d.z; }

// Empty, or why no device takes it.
std::string RefuseShape(const LaunchShape& shape) {
  const dim3& grid = shape.grid;
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0) return "an empty launch";
  if (threads > LaunchShape::kMaxThreads)
    return "a block of " + std::to_string(threads) + " threads";
  if (grid.x > 0x7fffffffU || grid.y > LaunchShape::kMaxGridYZ || grid.z > LaunchShape::kMaxGridYZ)
    return "a grid that is too large";
  if (shape.shared_bytes > LaunchShape::kMaxShared)
    return std::to_string(shape.shared_bytes) + " bytes of shared memory";
  return {};
}

// The blocks of a grid in the order in which they run.
std::vector<std::uint32_t> OrderOf(const dim3& grid) {
  std::vector<std::uint32_t> order(CountOf(grid));
  std::iota(order.begin(), order.end(), 0U);
  Trial* trial = Trial::Current();
  if (trial == nullptr || trial->options().seed == 0) return order;
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[trial->Random() % i]);
  return order;
}

}  // namespace

constinit thread_local Block* Block::current_ = nullptr;

void RunGrid(const LaunchShape& shape, const std::function<void()>& kernel) {
  thread_local Block block;  // keeps its fibers from launch to launch
  Require(Block::current_ == nullptr, "a kernel launches no kernel");
  if (const std::string refused = RefuseShape(shape); !refused.empty()) {
    block.NoteFailure("no device takes " + refused);
    return;
  }
  Block::current_ = &block;
  block.Prepare(shape, kernel);
  for (const std::uint32_t i : OrderOf(shape.grid)) {
    const unsigned rest = i / shape.grid.x;
    if (!block.Run({i % shape.grid.x, rest % shape.grid.y, rest / shape.grid.y})) break;
  }
  Block::current_ = nullptr;
}

void Block::Prepare(const LaunchShape& shape, const std::function<void()>& kernel) {
  shape_ = shape;
  kernel_ = &kernel;
  count_ = CountOf(shape.block);
  Trial* trial = Trial::Current();
  looks_for_races_ = trial != nullptr && trial->options().races == Trial::Races::kReported;
  gridDim = shape.grid;
  blockDim = shape.block;
  while (fibers_.size() < count_)
    fibers_.push_back(std::make_unique<Fiber>([this] { RunThread(); }));
}

bool Block::Run(uint3 index) {
  blockIdx = index;
  threads_.assign(count_, {});
  warp_barriers_.assign((count_ + kLanes - 1) / kLanes, 0);
  block_barriers_ = 0;
  at_barrier_ = 0;
  ended_ = 0;
  failed_ = false;
  said_ = false;
  races_.Clear();
  statics_.clear();
  static_bytes_ = 0;
  dynamic_ = std::make_unique<std::byte[]>(shape_.shared_bytes);
  std::memset(dynamic_.get(), kUnwritten, shape_.shared_bytes);
  races_.AddRegion(dynamic_.get(), looks_for_races_ ? shape_.shared_bytes : 0);
  ready_.clear();
  for (unsigned i = 0; i < count_; ++i) ready_.push_back(i);
  RunReady();
  if (!failed_ && ended_ < count_) {
    NoteFailure("block " + Text(blockIdx) + ": " + DescribeStuck());
    failed_ = true;
  }
  if (failed_) Abandon();
  return !failed_;
}

void Block::RunReady() {
  Trial* trial = Trial::Current();
  const bool shuffled = trial != nullptr && trial->options().seed != 0;
  while (!ready_.empty() && !failed_) {
    if (shuffled) std::swap(ready_.front(), ready_[trial->Random() % ready_.size()]);
    const unsigned next = ready_.front();
    ready_.pop_front();
    Turn(next);
  }
}

void Block::Turn(unsigned thread) {
  running_ = thread;
  const unsigned rest = thread / shape_.block.x;
  threadIdx = {thread % shape_.block.x, rest % shape_.block.y, rest / shape_.block.y};
  threads_[thread].started = true;
  fibers_[thread]->Resume();
}

void Block::RunThread() {
  try {
    (*kernel_)();
  } catch (const Abandoned&) {
    // Its launch has failed, and says why.
  }
  threads_[running_].state = State::kEnded;
  ++ended_;
}

// Every thread leaves its kernel, so that its fiber can run another.
void Block::Abandon() {
  for (unsigned i = 0; i < count_; ++i)
    if (threads_[i].started && threads_[i].state != State::kEnded) Turn(i);
}

void Block::Wait() {
  fibers_[running_]->Suspend();
  if (failed_) throw Abandoned{};
}

void Block::MakeReady(unsigned thread) {
  threads_[thread].state = State::kReady;
  ready_.push_back(thread);
}

void Block::NoteFailure(const std::string& what) {
  if (Trial* trial = Trial::Current(); trial != nullptr) {
    trial->NoteFailure(what);
  } else {
    RequireFailed(what.c_str());
  }
}

void Block::Fail(const std::string& what) {
  NoteFailure("block " + Text(blockIdx) + ", thread " + std::to_string(running_) + ": " + what);
  failed_ = true;
  throw Abandoned{};
}

bool Block::Synchronize(bool said, const Site& where) {
  if (Trial::Has(Defect::Kind::kNoBarrier, where)) return said;
  Thread& self = threads_[running_];
  self.state = State::kAtBarrier;
  self.site = where;
  said_ = said_ || said;
  if (++at_barrier_ == count_) ReleaseBarrier();
  Wait();
  return said_before_;
}

void Block::ReleaseBarrier() {
  for (const Thread& thread : threads_) {
    if (thread.site.line() != threads_[0].site.line() ||
        std::strcmp(thread.site.file_name(), threads_[0].site.file_name()) != 0)
      Fail("threads meet at different barriers: " + NameOf(threads_[0].site) + " and " +
           NameOf(thread.site));
  }
  said_before_ = std::exchange(said_, false);
  at_barrier_ = 0;
  ++block_barriers_;
  for (unsigned i = 0; i < count_; ++i) MakeReady(i);
}

// Which of the lanes wait already.
std::uint32_t Block::LanesHere(std::uint32_t mask, Complete complete, const Site& where) {
  const unsigned first = running_ / kLanes * kLanes;
  const unsigned lane = running_ % kLanes;
  std::uint32_t here = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    if (first + l >= count_) Fail(NameOf(where) + ": the mask names a lane that does not exist");
    const Thread& other = threads_[first + l];
    if (other.state == State::kEnded)
      Fail(NameOf(where) + ": the mask names a lane that has ended");
    if (other.state != State::kAtMeeting) continue;
    if (other.mask == mask && other.complete == complete) {
      here |= 1U << l;
    } else if ((other.mask >> lane & 1) != 0) {
      Fail("lanes meet with different masks or operations: " + NameOf(where) + " and " +
           NameOf(other.site));
    }
  }
  return here;
}

void Block::Meet(std::uint32_t mask, void* payload, Complete complete, const Site& where) {
  if (Trial::Has(Defect::Kind::kShortMask, where)) mask &= ~std::bit_floor(mask);
  if ((mask >> running_ % kLanes & 1) == 0)
    Fail(NameOf(where) + ": a lane's mask does not name the lane itself");
  Thread& self = threads_[running_];
  self.state = State::kAtMeeting;
  self.site = where;
  self.mask = mask;
  self.payload = payload;
  self.complete = complete;
  if (LanesHere(mask, complete, where) == mask) {
    const unsigned first = running_ / kLanes * kLanes;
    void* payloads[kLanes] = {};
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1) == 0) continue;
      payloads[l] = threads_[first + l].payload;
      MakeReady(first + l);
    }
    complete(payloads, mask);
  }
  Wait();
}

std::uint32_t Block::Halved(std::uint32_t mask, const Site& where) const {
  constexpr std::uint32_t kLower = 0x0000ffffU;
  if (!Trial::Has(Defect::Kind::kHalfMasks, where)) return mask;
  return mask & (running_ % kLanes < kLanes / 2 ? kLower : ~kLower);
}

void Block::SynchronizeWarp(std::uint32_t mask, const Site& where) {
  if (Trial::Has(Defect::Kind::kNoWarpBarrier, where)) return;
  mask = Halved(mask, where);
  // Counted once, by the last lane to come.
  const unsigned first = running_ / kLanes * kLanes;
  const std::uint32_t lanes = std::min(kLanes, count_ - first);
  const std::uint32_t whole = lanes == kLanes ? 0xffffffffU : (1U << lanes) - 1;
  const auto count = [](void* const* payloads, std::uint32_t present) {
    std::uint32_t lane = 0;
    while ((present >> lane & 1) == 0) ++lane;
    if (auto* barriers = static_cast<std::uint32_t*>(payloads[lane]); barriers != nullptr)
      ++*barriers;
  };
  Meet(mask, mask == whole ? &warp_barriers_[running_ / kLanes] : nullptr, count, where);
}

std::byte* Block::Dynamic(std::size_t at, std::size_t bytes) {
  if (at > shape_.shared_bytes || (at == shape_.shared_bytes && bytes > 0) || at % bytes != 0)
    Fail("no shared memory for a number at byte " + std::to_string(at));
  return dynamic_.get() + at;
}

std::byte* Block::Static(const void* tag, std::size_t bytes) {
  std::unique_ptr<std::byte[]>& memory = statics_[tag];
  if (memory == nullptr) {
    static_bytes_ += bytes;
    if (static_bytes_ > LaunchShape::kMaxStaticShared) Fail("too much static shared memory");
    memory = std::make_unique<std::byte[]>(bytes);
    std::memset(memory.get(), kUnwritten, bytes);
    if (looks_for_races_) races_.AddRegion(memory.get(), bytes);
  }
  return memory.get();
}

RaceCheck::Access Block::Who() const {
  return {running_, running_ / kLanes, block_barriers_, warp_barriers_[running_ / kLanes]};
}

void Block::CheckTouch(const void* address, std::size_t bytes, RaceCheck::Kind kind) {
  const std::string wrong = races_.Check(address, bytes, kind, Who());
  if (!wrong.empty()) Fail(wrong);
}

void Block::StartCopy(Copy copy) {
  constexpr std::uintptr_t kBytes = 16;
  if (reinterpret_cast<std::uintptr_t>(copy.to) % kBytes != 0 ||
      reinterpret_cast<std::uintptr_t>(copy.from) % kBytes != 0)
    Fail("a copy of 16 bytes is not aligned to them");
  auto& groups = threads_[running_].copies;
  if (groups.empty()) groups.emplace_back();
  groups.back().push_back(copy);
}

void Block::CommitCopies() {
  auto& groups = threads_[running_].copies;
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}

void Block::WaitForCopies(std::size_t newest_groups) {
  auto& groups = threads_[running_].copies;
  if (groups.size() <= newest_groups + 1) return;
  const auto end = groups.end() - static_cast<std::ptrdiff_t>(newest_groups) - 1;
  for (auto group = groups.begin(); group != end; ++group) {
    for (const Copy& copy : *group) {
      Touch(copy.to, 16, RaceCheck::Kind::kWrite);
      std::memcpy(copy.to, copy.from, 16);
    }
  }
  groups.erase(groups.begin(), end);
}

// Nobody can go on: who waits where.
std::string Block::DescribeStuck() const {
  const auto waits = [](const Thread& t) { return t.state != State::kEnded; };
  const auto first = std::ranges::find_if(threads_, waits);
  std::string text = "thread " + std::to_string(first - threads_.begin()) + " waits at " +
                     NameOf(first->site) + " for ever";
  for (auto other = threads_.begin(); other != threads_.end(); ++other) {
    const bool elsewhere =
        waits(*other) && (other->state != first->state || other->site.line() != first->site.line());
    if (elsewhere || !waits(*other))
      return text + ": thread " + std::to_string(other - threads_.begin()) +
             (elsewhere ? " waits at " + NameOf(other->site) : " has ended");
  }
  return text;
}

}  // namespace banyan::kernels::cuda::emulation
