#include <cuda_runtime_api.h>

#include <atomic>

#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {
namespace {

std::atomic<int> first_error{cudaSuccess};

std::string Text(int code) {
  const auto error = static_cast<cudaError_t>(code);
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

void Copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Stream stream) {
  if (bytes > 0) NoteError(cudaMemcpyAsync(to, from, bytes, kind, stream));
}

}  // namespace

std::optional<Device> TakeDevice(std::int32_t index, std::string* why) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    *why = Text(error);
    return std::nullopt;
  }
  if (index < 0 || index >= count) {
    *why = "there is no device " + std::to_string(index) + "; there are " + std::to_string(count);
    return std::nullopt;
  }
  cudaDeviceProp found{};
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&found, index);
  if (error != cudaSuccess) {
    *why = Text(error);
    return std::nullopt;
  }
  return Device{found.name,
                found.major,
                found.minor,
                found.multiProcessorCount,
                found.sharedMemPerBlockOptin,
                found.totalGlobalMem};
}

void UseDevice(std::int32_t index) { NoteError(cudaSetDevice(index)); }

std::size_t FreeBytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  NoteError(cudaMemGetInfo(&free, &total));
  return free;
}

void* Allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  (void)cudaGetLastError();  // it is answered here, and must not show as another call's
  return nullptr;
}

void Free(void* memory) { NoteError(cudaFree(memory)); }

void* AllocatePinned(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocHost(&memory, bytes) == cudaSuccess) return memory;
  (void)cudaGetLastError();
  return nullptr;
}

void FreePinned(void* memory) { NoteError(cudaFreeHost(memory)); }

void CopyToDevice(void* to, const void* from, std::size_t bytes, Stream stream) {
  Copy(to, from, bytes, cudaMemcpyHostToDevice, stream);
}
void CopyToHost(void* to, const void* from, std::size_t bytes, Stream stream) {
  Copy(to, from, bytes, cudaMemcpyDeviceToHost, stream);
}
void CopyOnDevice(void* to, const void* from, std::size_t bytes, Stream stream) {
  Copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
void Fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) {
  if (bytes > 0) NoteError(cudaMemsetAsync(memory, byte, bytes, stream));
}

Stream MakeStream() {
  cudaStream_t stream = nullptr;
  NoteError(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
void Destroy(Stream stream) { NoteError(cudaStreamDestroy(stream)); }
Event MakeEvent() {
  cudaEvent_t event = nullptr;
  NoteError(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}
void Destroy(Event event) { NoteError(cudaEventDestroy(event)); }
void Record(Event event, Stream stream) { NoteError(cudaEventRecord(event, stream)); }
void WaitFor(Event event, Stream stream) { NoteError(cudaStreamWaitEvent(stream, event, 0)); }
void Synchronize(Stream stream) { NoteError(cudaStreamSynchronize(stream)); }

void NoteError(int code) {
  int none = cudaSuccess;
  if (code != cudaSuccess) first_error.compare_exchange_strong(none, code);
}

std::string FirstError() {
  const int code = first_error.load();
  return code == cudaSuccess ? std::string() : Text(code);
}

}  // namespace banyan::kernels::cuda
