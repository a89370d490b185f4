#include "server/eval/command_line.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "server/arguments.h"
#include "server/quantity.h"
#include "server/validators.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000;
constexpr std::int64_t kMostContext = 1 << 20;
constexpr std::int64_t kMostPasskeys = 100;

constexpr std::string_view kNotes =
    "For each configuration: perplexity, and Kullback-Leibler divergence and greedy tokens beside\n"
    "exact f16, both of them computed here, token by token; the bytes of the pages that held "
    "tokens at\n"
    "the peak; the speed of decoding; and how many numbers it finds again that were hidden in a "
    "long\n"
    "text. Two models are loaded at a time.\n"
    "\n"
    "Examples:\n"
    "  banyan eval --model model.gguf --text book.txt\n"
    "  banyan eval --model model.gguf --text book.txt --configs f16,int8 --json eval.json --svg "
    "eval.svg\n"
    "  banyan eval --model model.gguf --text book.txt --configs f16+streaming:sinks=4,window=1020\n"
    "  banyan eval --model model.gguf --text book.txt --markdown page.md    # between the marks "
    "<!--\n"
    "      banyan eval --> and <!-- end --> where the page has them";

// As typed; each was validated by CLI11 before it is read.
struct Typed {
  std::string model, text, configs = AllConfigurations(), tokens = "20480", context, passkeys = "2";
  std::string threads, json, svg, markdown;
};

void Declare(CLI::App& app, Typed& typed) {
  const auto option = [&app](const char* name, std::string& target, const char* type,
                             std::string help) {
    return app.add_option(name, target, std::move(help))->type_name(type);
  };
  option("--model", typed.model, "FILE", "a GGUF file")->required();
  option("--text", typed.text, "FILE", "what is read: UTF-8, as it is")->required();
  option("--configs", typed.configs, "LIST",
         "formats of KV pages, each with a policy or without, with commas between them")
      ->default_str(typed.configs);
  option("--tokens", typed.tokens, "N", "tokens of the text that are read at most, 2..1000000")
      ->default_str(typed.tokens)
      ->check(Integers(2, kMostTokens));
  option("--context", typed.context, "N",
         "tokens that are read in one piece, each predicted from those before it in the piece "
         "(default: 2048, or the model's context if that is less)")
      ->check(Integers(2, kMostContext));
  option("--passkeys", typed.passkeys, "N",
         "numbers to find again at each depth and length, 0..100; lengths are a quarter, a half "
         "and the whole of --context")
      ->default_str(typed.passkeys)
      ->check(Integers(0, kMostPasskeys));
  option("--threads", typed.threads, "N", "compute threads, as those of banyan serve")
      ->check(Integers(1, kMaxThreads));
  option("--json", typed.json, "FILE", "where to write all figures");
  option("--svg", typed.svg, "FILE", "where to draw quality against memory");
  option("--markdown", typed.markdown, "FILE", "where to write the tables");
  app.footer(std::string(kNotes));
  app.get_formatter()->column_width(26);
}

}  // namespace

Command ParseEval(std::span<const char* const> arguments) {
  CLI::App app("Measures what small KV pages cost in quality.", "banyan eval");
  Typed typed;
  Declare(app, typed);
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  auto configurations = ParseConfigurations(typed.configs);
  if (!configurations.ok()) {
    return Refuse(app, absl::StrCat("--configs: ", configurations.status().message()));
  }
  EvalOptions options;
  options.model = typed.model;
  options.text = typed.text;
  options.configurations = *std::move(configurations);
  options.tokens = *ParseInteger(typed.tokens);
  if (!typed.context.empty()) options.context = *ParseInteger(typed.context);
  options.passkeys = static_cast<std::int32_t>(*ParseInteger(typed.passkeys));
  options.threads = ThreadsOf(typed.threads);
  options.json = typed.json;
  options.svg = typed.svg;
  options.markdown = typed.markdown;
  return options;
}

}  // namespace banyan::server
