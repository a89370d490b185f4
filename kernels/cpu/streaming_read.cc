#include "kernels/cpu/streaming_read.h"

namespace banyan::kernels {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

StreamingRead::StreamingRead(std::int32_t threads, std::size_t bytes)
    : pool_(threads), memory_(Buffer::MapOrThrow(bytes)) {
  // Memory that nobody wrote is one page of zeros, which the caches hold. By the threads that will
  // read it, so that each has its share near.
  auto* words = memory_.as<std::uint64_t>();
  pool_.For(static_cast<std::int64_t>(bytes / sizeof *words),
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t i = begin; i < end; ++i) words[i] = static_cast<std::uint64_t>(i);
            });
}

void StreamingRead::Run(std::int64_t part, std::int64_t parts, std::int32_t times) {
  const auto* lines = memory_.as<const volatile std::uint64_t>();
  pool_.For(static_cast<std::int64_t>(bytes() / kLine), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t share = end - begin;
    const std::int64_t first = begin + share * part / parts;
    const std::int64_t last = begin + share * (part + 1) / parts;
    for (std::int32_t i = 0; i < times; ++i) {
      for (std::int64_t line = first; line < last; ++line) static_cast<void>(lines[line * 8]);
    }
  });
}

}  // namespace banyan::kernels
