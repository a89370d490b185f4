// The runtime's stand-in: the device's memory is the host's, and a stream is always empty.
#include "kernels/cuda/runtime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "kernels/cuda/emulation/block.h"

namespace banyan::kernels::cuda {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kTotalBytes = std::size_t{512} << 20;
constexpr std::uint8_t kUnwritten = 0xff;

std::atomic<int> first_error{0};

// The size is what was asked for, so that the address sanitizer sees the end.
void* Aligned(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes > 0 ? bytes : 1) != 0) return nullptr;
  std::memset(memory, kUnwritten, bytes);
  return memory;
}

// What of the device's memory is taken.
class Taken {
 public:
  void* Take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > kTotalBytes - bytes_) return nullptr;
    void* memory = Aligned(bytes);
    if (memory == nullptr) return nullptr;
    sizes_[memory] = bytes;
    bytes_ += bytes;
    return memory;
  }
  void Return(void* memory) {
    const std::lock_guard lock(mutex_);
    if (const auto found = sizes_.find(memory); found != sizes_.end()) {
      bytes_ -= found->second;
      sizes_.erase(found);
    }
    std::free(memory);
  }
  std::size_t left() {
    const std::lock_guard lock(mutex_);
    return kTotalBytes - bytes_;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

// Never destroyed: what is freed when the process ends comes here, too.
Taken& DeviceMemory() {
  static Taken& taken = *new Taken;
  return taken;
}

// A stream or an event is a name and holds nothing; yet a lost one is a leak that shows.
template <class T>
T MakeName() {
  return reinterpret_cast<T>(new char);
}
template <class T>
void DeleteName(T name) {
  delete reinterpret_cast<char*>(name);
}

void Copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

std::optional<Device> TakeDevice(std::int32_t index, std::string* why) {
  if (index != 0) {
    *why = "there is no device " + std::to_string(index) + "; there are 1";
    return std::nullopt;
  }
  return Device{"host execution", 8, 9, 1, emulation::LaunchShape::kMaxShared, kTotalBytes};
}

void UseDevice(std::int32_t /*index*/) {}

std::size_t FreeBytes() { return DeviceMemory().left(); }

void* Allocate(std::size_t bytes) { return DeviceMemory().Take(bytes); }
void Free(void* memory) { DeviceMemory().Return(memory); }
void* AllocatePinned(std::size_t bytes) { return Aligned(bytes); }
void FreePinned(void* memory) { std::free(memory); }

void CopyToDevice(void* to, const void* from, std::size_t bytes, Stream /*stream*/) {
  Copy(to, from, bytes);
}
void CopyToHost(void* to, const void* from, std::size_t bytes, Stream /*stream*/) {
  Copy(to, from, bytes);
}
void CopyOnDevice(void* to, const void* from, std::size_t bytes, Stream /*stream*/) {
  Copy(to, from, bytes);
}
void Fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream /*stream*/) {
  if (bytes > 0) std::memset(memory, byte, bytes);
}

Stream MakeStream() { return MakeName<Stream>(); }
void Destroy(Stream stream) { DeleteName(stream); }
Event MakeEvent() { return MakeName<Event>(); }
void Destroy(Event event) { DeleteName(event); }
void Record(Event /*event*/, Stream /*stream*/) {}
void WaitFor(Event /*event*/, Stream /*stream*/) {}
void Synchronize(Stream /*stream*/) {}

void NoteError(int code) {
  int none = 0;
  if (code != 0) first_error.compare_exchange_strong(none, code);
}

std::string FirstError() {
  const int code = first_error.load();
  return code == 0 ? std::string() : "error " + std::to_string(code);
}

}  // namespace banyan::kernels::cuda
