// The few calls of the CUDA runtime that the backend makes. runtime_device.cc makes them of the
// toolkit; emulation/runtime.cc stands in where there is no device: there memory is the host's, and
// everything is done, in order, when a call returns.
//
// Errors: a call whose failure the caller can answer says so. Any other failure, a kernel's too, is
// kept as the first error, after which nothing that the device computed is to be believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

struct CUstream_st;
struct CUevent_st;

namespace banyan::kernels::cuda {

using Stream = ::CUstream_st*;  // null: the default one, which tests use
using Event = ::CUevent_st*;

struct Device {
  std::string name;
  std::int32_t major = 0;  // compute capability
  std::int32_t minor = 0;
  std::int32_t multiprocessors = 0;
  std::size_t shared_bytes = 0;  // that a block may ask for
  std::size_t total_bytes = 0;
};

// Takes device `index` for the calling thread. Nothing, and one line in `why`, where there is no
// such device, or no driver that this program can use.
std::optional<Device> TakeDevice(std::int32_t index, std::string* why);
// Another thread takes what was taken before.
void UseDevice(std::int32_t index);
std::size_t FreeBytes();

// Null when the memory cannot be had. Aligned to 256 bytes.
void* Allocate(std::size_t bytes);
void Free(void* memory);
// Memory of the host that the device copies from and to by itself.
void* AllocatePinned(std::size_t bytes);
void FreePinned(void* memory);

// In the order of their stream; host memory is to be pinned, and kept until the stream has passed.
void CopyToDevice(void* to, const void* from, std::size_t bytes, Stream stream);
void CopyToHost(void* to, const void* from, std::size_t bytes, Stream stream);
void CopyOnDevice(void* to, const void* from, std::size_t bytes, Stream stream);
void Fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream);

// Null when the device refuses it.
Stream MakeStream();
void Destroy(Stream stream);
Event MakeEvent();
void Destroy(Event event);
void Record(Event event, Stream stream);
void WaitFor(Event event, Stream stream);  // what follows in the stream waits
void Synchronize(Stream stream);           // the caller waits

// Keeps `code` (a cudaError_t) as the first error, unless it is 0 or there is one.
void NoteError(int code);
// What went wrong first; empty while nothing did.
std::string FirstError();

}  // namespace banyan::kernels::cuda
