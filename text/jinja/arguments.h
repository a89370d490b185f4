// What a filter, test, method, function or macro is called with.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Arguments {
 public:
  absl::InlinedVector<Value, 4> positional;
  absl::InlinedVector<std::pair<Value, Value>, 2> named;  // names are strings, and distinct

  // As a function with these parameters takes them; kMissing where nothing was given.
  template <std::size_t n>
  std::array<Value, n> Bind(std::string_view function,
                            const std::array<std::string_view, n>& parameters,
                            std::size_t required = 0) const {
    std::array<Value, n> bound;
    BindTo(function, parameters.data(), bound.data(), n, required);
    return bound;
  }
  // For functions without parameters.
  void ExpectNone(std::string_view function) const;

 private:
  void BindTo(std::string_view function, const std::string_view* parameters, Value* bound,
              std::size_t count, std::size_t required) const;
};

inline bool Given(const Value& value) { return !value.Is(Kind::kMissing); }

}  // namespace banyan::text::jinja
