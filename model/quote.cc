#include "model/quote.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace banyan::model {

std::string Quote(std::string_view name) {
  constexpr std::size_t kShown = 80;
  const std::string_view shown = name.substr(0, kShown);
  return absl::StrCat("'", absl::CHexEscape({shown.data(), shown.size()}),
                      name.size() > kShown ? "...'" : "'");
}

}  // namespace banyan::model
