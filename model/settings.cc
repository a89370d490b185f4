#include "model/settings.h"

#include "absl/strings/str_cat.h"

namespace banyan::model {

std::string Settings::Key(std::string_view name) const {
  return absl::StrCat(architecture_, ".", std::string(name));
}

void Settings::Fail(absl::Status status) { status_.Update(std::move(status)); }

std::int64_t Settings::Integer(std::string_view name, std::int64_t low, std::int64_t high,
                               std::optional<std::int64_t> otherwise) {
  const std::string key = Key(name);
  if (!metadata_.Has(key) && otherwise) return *otherwise;
  const std::optional<std::int64_t> value = metadata_.Integer(key);
  if (!value) {
    Fail(absl::InvalidArgumentError(absl::StrCat(
        "key '", key, "'", metadata_.Has(key) ? " is not an integer" : " is missing")));
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
    Fail(absl::InvalidArgumentError(
        absl::StrCat("key '", key, "'", metadata_.Has(key) ? " is not a float" : " is missing")));
    return static_cast<float>(low);
  }
  if (!(*value > low && *value < high)) {  // so written that NaN fails
    Fail(absl::InvalidArgumentError(absl::StrCat("key '", key, "' is ", *value,
                                                 "; it must be over ", low, " and under ", high)));
    return static_cast<float>(low);
  }
  return static_cast<float>(*value);
}

void Settings::Refuse(std::string_view name, bool harmless) {
  if (harmless || !Has(name)) return;
  Fail(absl::UnimplementedError(
      absl::StrCat("key '", Key(name), "' asks for what is not supported yet")));
}

void Settings::RefuseInteger(std::string_view name, std::int64_t harmless) {
  Refuse(name, metadata_.Integer(Key(name)) == harmless);
}

void Settings::RefuseFloat(std::string_view name, double harmless) {
  Refuse(name, metadata_.Float(Key(name)) == harmless);
}

void Settings::RefuseString(std::string_view name, std::string_view harmless) {
  Refuse(name, metadata_.String(Key(name)) == harmless);
}

void Settings::Require(bool holds, std::string_view message) {
  if (!holds)
    Fail(absl::InvalidArgumentError(absl::StrCat(architecture_, ": ", std::string(message))));
}

}  // namespace banyan::model
