#include "text/jinja/filters.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace banyan::text::jinja {

const Filter* FilterNamed(std::string_view name) {
  static const auto& table = *[] {
    auto* rows = new absl::flat_hash_map<absl::string_view, const Filter*>;
    for (const auto part : {TextFilters(), ListFilters(), SelectFilters(), NumberFilters()}) {
      for (const Filter& filter : part) {
        rows->emplace(absl::string_view(filter.name.data(), filter.name.size()), &filter);
      }
    }
    return rows;
  }();
  const auto found = table.find(absl::string_view(name.data(), name.size()));
  return found == table.end() ? nullptr : found->second;
}

}  // namespace banyan::text::jinja
