// Key-value facts of a model file, as any room may read them without knowing the file's format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace banyan {

// Each getter returns nothing when the key is absent or has another type; integers of any width and
// sign are accepted where they fit. Views live as long as the Metadata. Immutable, thread-safe.
class Metadata {
 public:
  virtual ~Metadata() = default;
  virtual bool Has(std::string_view key) const = 0;
  virtual std::optional<std::string_view> String(std::string_view key) const = 0;
  virtual std::optional<std::int64_t> Integer(std::string_view key) const = 0;
  virtual std::optional<double> Float(std::string_view key) const = 0;
  virtual std::optional<bool> Bool(std::string_view key) const = 0;
  virtual std::optional<std::vector<std::string_view>> Strings(std::string_view key) const = 0;
  virtual std::optional<std::vector<std::int64_t>> Integers(std::string_view key) const = 0;
  virtual std::optional<std::vector<double>> Floats(std::string_view key) const = 0;
};

}  // namespace banyan
