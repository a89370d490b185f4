// Reads an architecture's settings from a file's metadata, each with the range it may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/metadata.h"

namespace banyan::model {

// Keys are "<architecture>.<name>". What is wrong reads as its lowest value, and the first error is
// kept, so that a list of settings reads as a list. kInvalidArgument names the key.
class Settings {
 public:
  Settings(const Metadata& metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  // Without a default the key must be there.
  std::int64_t Integer(std::string_view name, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> otherwise = std::nullopt);
  // low < value < high, as a float.
  float Float(std::string_view name, double low, double high,
              std::optional<float> otherwise = std::nullopt);

  std::string_view String(std::string_view name, std::string_view otherwise);
  // attention.sliding_window: how many positions a layer sees, its own among them; 0 sees all.
  std::int64_t Window();

  // A setting that would change the answers and is not built: kUnimplemented names it and says what
  // it asks for, unless it is absent or says `harmless`.
  void RefuseInteger(std::string_view name, std::int64_t harmless, std::string_view what);
  void RefuseFloat(std::string_view name, double harmless, std::string_view what);
  void RefuseBool(std::string_view name, bool harmless, std::string_view what);
  void RefusePresent(std::string_view name, std::string_view what);
  // A relation between settings that must hold.
  void Require(bool holds, std::string_view message);
  void Fail(absl::Status status);

  bool Has(std::string_view name) const { return metadata_.Has(Key(name)); }
  const absl::Status& status() const { return status_; }

 private:
  std::string Key(std::string_view name) const;
  absl::Status Wrong(const std::string& key, std::string_view type) const;
  void Refuse(std::string_view name, bool harmless, std::string_view what);

  const Metadata& metadata_;
  const std::string architecture_;
  absl::Status status_;
};

}  // namespace banyan::model
