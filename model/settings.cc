#include "model/settings.h"

#include "absl/strings/str_cat.h"

namespace banyan::model {

std::string Settings::Key(std::string_view name) const {
  return absl::StrCat(architecture_, ".", std::string(name));
}

void Settings::Fail(absl::Status status) { status_.Update(std::move(status)); }

absl::Status Settings::Wrong(const std::string& key, std::string_view type) const {
  if (!metadata_.Has(key)) return absl::InvalidArgumentError("key '" + key + "' is missing");
  if (metadata_.Integers(key)) {
    return absl::UnimplementedError("key '" + key +
                                    "' has a value for each layer, which is not supported");
  }
  return absl::InvalidArgumentError(absl::StrCat("key '", key, "' is not ", std::string(type)));
}

std::int64_t Settings::Integer(std::string_view name, std::int64_t low, std::int64_t high,
                               std::optional<std::int64_t> otherwise) {
  const std::string key = Key(name);
  if (!metadata_.Has(key) && otherwise) return *otherwise;
  const std::optional<std::int64_t> value = metadata_.Integer(key);
  if (!value) {
    Fail(Wrong(key, "an integer"));
    return low;
  }
  if (*value < low || *value > high) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("key '", key, "' is ", *value, "; ", low, " to ", high, " is allowed")));
    return low;
  }
  return *value;
}

float Settings::Float(std::string_view name, double low, double high,
                      std::optional<float> otherwise) {
  const std::string key = Key(name);
  if (!metadata_.Has(key) && otherwise) return *otherwise;
  const std::optional<double> value = metadata_.Float(key);
  if (!value) {
    Fail(Wrong(key, "a float"));
    return static_cast<float>(low);
  }
  // Judged as the float that is used, and so written that NaN fails.
  const auto narrowed = static_cast<float>(*value);
  if (!(narrowed > low && narrowed < high)) {
    Fail(absl::InvalidArgumentError(absl::StrCat("key '", key, "' is ", *value,
                                                 "; it must be over ", low, " and under ", high)));
    return static_cast<float>(low);
  }
  return narrowed;
}

std::string_view Settings::String(std::string_view name, std::string_view otherwise) {
  const std::string key = Key(name);
  if (!metadata_.Has(key)) return otherwise;
  const std::optional<std::string_view> value = metadata_.String(key);
  if (!value) Fail(Wrong(key, "a string"));
  return value.value_or(otherwise);
}

std::int64_t Settings::Window() {
  constexpr std::int64_t kMaxWindow = 1 << 30;
  return Integer("attention.sliding_window", 0, kMaxWindow, 0);
}

void Settings::Refuse(std::string_view name, bool harmless, std::string_view what) {
  if (harmless || !Has(name)) return;
  Fail(absl::UnimplementedError(absl::StrCat("key '", Key(name), "' asks for ", std::string(what),
                                             ", which is not supported")));
}

void Settings::RefuseInteger(std::string_view name, std::int64_t harmless, std::string_view what) {
  Refuse(name, metadata_.Integer(Key(name)) == harmless, what);
}

void Settings::RefuseFloat(std::string_view name, double harmless, std::string_view what) {
  Refuse(name, metadata_.Float(Key(name)) == harmless, what);
}

void Settings::RefuseBool(std::string_view name, bool harmless, std::string_view what) {
  Refuse(name, metadata_.Bool(Key(name)) == harmless, what);
}

void Settings::RefusePresent(std::string_view name, std::string_view what) {
  Refuse(name, /*harmless=*/false, what);
}

void Settings::Require(bool holds, std::string_view message) {
  if (!holds)
    Fail(absl::InvalidArgumentError(absl::StrCat(architecture_, ": ", std::string(message))));
}

}  // namespace banyan::model
