// JSON entries of traces: parsed strictly, fields with reasons when they are wrong.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace banyan::loadtest {

// Tokens of a prompt or of an answer are at most so many.
inline constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();
// Times of traces, since whatever they count from: 285 years fit into a Tick.
inline constexpr double kMaxSeconds = 9e9;

// Reads one object after another into the same memory.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();

  // Valid until the next call. kInvalidArgument for what is not one JSON object, for a key that is
  // there twice, for more than 32 levels.
  absl::StatusOr<const boost::json::object*> Read(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// In all of these a null counts as a member that is not there.
const boost::json::value* FindMember(const boost::json::object& object, std::string_view name);

// A whole number in [min, max]; nullopt when it is not there.
absl::StatusOr<std::optional<std::int64_t>> FindInteger(const boost::json::object& object,
                                                        std::string_view name, std::int64_t min,
                                                        std::int64_t max);
// As above; not there is an error.
absl::StatusOr<std::int64_t> Integer(const boost::json::object& object, std::string_view name,
                                     std::int64_t min, std::int64_t max);
// A number of `unit`s, >= 0; nullopt when it is not there.
absl::StatusOr<std::optional<Tick>> FindTime(const boost::json::object& object,
                                             std::string_view name, Tick unit);
// nullopt when it is not there.
absl::StatusOr<std::optional<std::string>> FindText(const boost::json::object& object,
                                                    std::string_view name);

// So many `unit`s as a Tick; kInvalidArgument, naming `name`, when that is negative, no number, or
// too large.
absl::StatusOr<Tick> TimeOf(double units, Tick unit, std::string_view name);

}  // namespace banyan::loadtest
