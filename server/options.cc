#include "server/options.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "server/arguments.h"
#include "server/bench/command_line.h"
#include "server/eval/command_line.h"
#include "server/model_command_line.h"
#include "server/plan/command_line.h"
#include "server/serve_command_line.h"

namespace banyan::server {

Command ParseCommandLine(std::span<const char* const> arguments) {
  const std::string_view verb = arguments.size() > 1 ? arguments[1] : "";
  if (verb == "serve") return ParseServe(arguments.subspan(1));
  if (verb == "model") return ParseModel(arguments.subspan(1));
  if (verb == "bench") return ParseBench(arguments.subspan(1));
  if (verb == "plan") return ParsePlan(arguments.subspan(1));
  if (verb == "eval") return ParseEval(arguments.subspan(1));
  CLI::App app("An LLM server whose heart is a radix tree of token prefixes.", "banyan");
  app.set_version_flag("--version", "banyan " BANYAN_VERSION);
  app.add_subcommand("serve", "serve a model over the OpenAI API (banyan serve --help)");
  app.add_subcommand("model", "look at model files, fetch some (banyan model --help)");
  app.add_subcommand("plan", "how much KV memory a model and its users take (banyan plan --help)");
  app.add_subcommand("eval", "what small KV pages cost in quality (banyan eval --help)");
  app.add_subcommand("bench", "measure this machine (banyan bench --help)");
  app.require_subcommand(1);
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  return Refuse(app, "the command comes first: banyan serve --model FILE");
}

}  // namespace banyan::server
