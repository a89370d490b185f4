#include "scheduler/request.h"

#include "absl/strings/str_cat.h"

namespace banyan::scheduler {

// The tenant's length first, so that no tenant's name can run on into a salt.
std::string NamespaceName(std::string_view tenant, std::string_view cache_salt) {
  std::string name = absl::StrCat(tenant.size(), ":");
  name.append(tenant);
  name.append(cache_salt);
  return name;
}

}  // namespace banyan::scheduler
