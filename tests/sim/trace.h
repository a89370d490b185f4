// What happened in a simulation, and the failure that ends it. Events are kept as numbers and
// become words only when something failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "base/ids.h"

namespace banyan::sim {

inline constexpr RequestId kNobody{0};  // requests are numbered from 1

// The first thing that was wrong.
class Failure : public std::exception {
 public:
  explicit Failure(std::string what, RequestId request = kNobody)
      : what_(std::move(what)), request_(request) {}
  const char* what() const noexcept override { return what_.c_str(); }
  RequestId request() const { return request_; }

 private:
  std::string what_;
  RequestId request_;
};

// `words` may have up to four %d, filled with `numbers`.
std::string Format(const char* words, const std::array<std::int64_t, 4>& numbers);

// Throws a Failure unless `condition`.
inline void Require(bool condition, const char* words, RequestId request = kNobody,
                    std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0,
                    std::int64_t d = 0) {
  if (!condition) [[unlikely]]
    throw Failure(Format(words, {a, b, c, d}), request);
}

class Trace {
 public:
  void SetTick(int tick) { tick_ = tick; }
  int tick() const { return tick_; }

  // `words` as for Format; they must outlive the trace. kNobody: it concerns all.
  void Add(const char* words, RequestId request = kNobody, std::int64_t a = 0, std::int64_t b = 0,
           std::int64_t c = 0, std::int64_t d = 0) {
    events_[added_++ % kKept] = {tick_, words, request, {a, b, c, d}};
  }

  // The last `lines` events that concern `request`, its own and those of all (kNobody: every one),
  // one a line.
  std::string Tail(RequestId request, std::size_t lines = 40) const;

 private:
  static constexpr std::size_t kKept = 4096;
  struct Event {
    int tick = 0;
    const char* words = "";
    RequestId request = kNobody;
    std::array<std::int64_t, 4> numbers{};
  };

  int tick_ = 0;
  std::size_t added_ = 0;
  std::vector<Event> events_ = std::vector<Event>(kKept);
};

}  // namespace banyan::sim
