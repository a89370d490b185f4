// The chat templates of models whose file has none.
#pragma once

#include <functional>
#include <string_view>

namespace banyan::text {

struct DefaultTemplate {
  std::string_view name;
  std::string_view text;
};

// That of the first family whose control tokens the vocabulary has, else a plain form.
const DefaultTemplate& DefaultTemplateFor(
    const std::function<bool(std::string_view)>& has_control_token);

}  // namespace banyan::text
