#include "model/architectures.h"

#include <new>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "model/families/families.h"
#include "model/kv_pool.h"

namespace banyan::model {
namespace {

#define BANYAN_ENTRY(name, read) {name, read},
constexpr Architecture kArchitectures[] = {BANYAN_FAMILIES(BANYAN_ENTRY)};
#undef BANYAN_ENTRY

std::string Known() {
  std::string names;
  for (const Architecture& architecture : kArchitectures) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(architecture.name));
  }
  return names;
}

}  // namespace

std::span<const Architecture> Architectures() { return kArchitectures; }

absl::StatusOr<const Architecture*> FindArchitecture(const Metadata& metadata) {
  // Adapters, projectors and importance matrices are GGUF files too.
  if (const auto type = metadata.String("general.type"); type.value_or("model") != "model") {
    return absl::UnimplementedError(absl::StrCat("key 'general.type' is ", Quote(*type),
                                                 ": the file does not hold a model of its own"));
  }
  const std::optional<std::string_view> name = metadata.String("general.architecture");
  if (!name) {
    return absl::InvalidArgumentError("key 'general.architecture' is missing or not a string");
  }
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == *name) return &architecture;
  }
  return absl::UnimplementedError(absl::StrCat("the architecture ", Quote(*name),
                                               " is not supported (supported: ", Known(),
                                               "; docs/models.md says what another one needs)"));
}

absl::StatusOr<std::unique_ptr<Model>> Model::Load(std::unique_ptr<File> file,
                                                   const Options& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<const Architecture*> architecture = FindArchitecture(file->metadata());
  if (!architecture.ok()) return architecture.status();
  try {
    return LoadDecoder(**architecture, *file, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the model does not fit into memory");
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the compute threads cannot be started: ", error.what()));
  }
}

}  // namespace banyan::model
