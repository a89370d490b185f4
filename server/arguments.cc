#include "server/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/quote.h"
#include "server/fail.h"
#include "server/processors.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

// CLI11 says of a command that it does not know no more than that arguments are left.
bool IsUnknown(const CLI::App& app, std::string_view verb) {
  if (verb.empty() || verb.starts_with('-')) return false;
  const auto known = app.get_subcommands([](const CLI::App*) { return true; });
  return !known.empty() && std::ranges::none_of(known, [verb](const CLI::App* command) {
    return command->get_name() == verb;
  });
}

}  // namespace

std::optional<Exit> ParseArguments(CLI::App& app, std::span<const char* const> arguments) {
  const std::string_view verb = arguments.size() > 1 ? arguments[1] : "";
  if (IsUnknown(app, verb)) return Refuse(app, absl::StrCat(Quote(verb), " is no command"));
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return Exit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Exit{0, std::string(version.what()) + "\n"};
  } catch (const CLI::ConfigError& error) {
    return Refuse(app, absl::StrCat("--config: ", error.what()));
  } catch (const CLI::Error& error) {
    return Refuse(app, error.what());
  }
  return std::nullopt;
}

Exit Refuse(const CLI::App& app, absl::string_view reason) {
  return Exit{1, FailureLine(absl::StrCat(reason, " (see ", app.get_name(), " --help)"))};
}

std::int32_t ThreadsOf(const std::string& typed) {
  return typed.empty() ? std::min(UsableProcessors(), kMaxThreads)
                       : static_cast<std::int32_t>(*ParseInteger(typed));
}

}  // namespace banyan::server
