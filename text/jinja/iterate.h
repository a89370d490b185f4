// Goes through what Python can iterate over.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "text/jinja/value.h"

namespace banyan::text::jinja {

// Of a list its items, of a string its characters, of a mapping its keys; nothing of what is
// undefined.
class Iterator {
 public:
  // Throws what Python would say where `value` is not iterable.
  explicit Iterator(Value value);

  bool Next(Value& item);
  // How many there are, from the first on; none where only going through them tells.
  std::optional<std::size_t> Count() const;

 private:
  Value value_;
  std::size_t at_ = 0;  // an index; in strings, a byte
};

bool IsIterable(const Value& value);
std::vector<Value> Collect(Budget& budget, const Value& value);

}  // namespace banyan::text::jinja
