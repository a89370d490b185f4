#include "server/plan/command_line.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "server/arguments.h"
#include "server/plan/shape_text.h"
#include "server/quantity.h"
#include "server/validators.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kMaxSessions = 1'000'000;
constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50;

constexpr std::string_view kNotes =
    "It tells, for every page format: the bytes of a token, of a page and of a session; with a "
    "size\n"
    "of memory, how many tokens and sessions fit; with a number of sessions, which --kv-memory to "
    "give\n"
    "to banyan serve. What is allocated is what the server allocates, to the byte.\n"
    "\n"
    "Examples:\n"
    "  banyan plan SmolLM2-135M-Instruct.Q4_1.gguf\n"
    "  banyan plan model.gguf --memory 64GiB --context 8192 --shared-prefix 2000\n"
    "  banyan plan Llama-3.1-8B/config.json --weights 5GiB --context 8192 --sessions 32 --explain\n"
    "  banyan plan --shape 32,8,128                          # layers, KV heads, size of a head\n"
    "  banyan plan --shape 26,1,256,512,512,512,512,512,0    # windows, repeated; 0 sees all\n"
    "  banyan plan --shape 61,512+64                         # a latent and its rotated key";

// As typed; each was validated by CLI11 before it is read.
struct Typed {
  std::string model, shape, context, sessions, shared_prefix, page_size = "16";
  std::string max_running = "64", memory, kv_memory, weights;
  bool explain = false;
  bool json = false;
};

void Declare(CLI::App& app, Typed& typed) {
  const auto option = [&app](const char* name, std::string& target, const char* type,
                             std::string help) {
    return app.add_option(name, target, std::move(help))->type_name(type);
  };
  option("MODEL", typed.model, "",
         "a GGUF file, of which only the header is read, or a model's config.json, or its folder");
  option("--shape", typed.shape, "SHAPE",
         "instead of a model: LAYERS,KV_HEADS,HEAD_DIM[,WINDOW...] or "
         "LAYERS,LATENT+ROPE[,WINDOW...]");
  option("--context", typed.context, "N",
         "tokens of a session, its prompts and answers (default: the model's context)")
      ->check(Integers(1, kMaxPlannedContext));
  option("--sessions", typed.sessions, "N", "sessions at once, 1..1000000: what must the pool be?")
      ->check(Integers(1, kMaxSessions));
  option("--shared-prefix", typed.shared_prefix, "N",
         "tokens that are the same at the beginning of all sessions, under --context")
      ->check(Integers(0, kMaxPlannedContext));
  option("--memory", typed.memory, "SIZE",
         "memory for weights and KV pages, up to 1024TiB: what fits? (leave some tens of MiB for "
         "the server's buffers)")
      ->check(Bytes(1, kMaxMemory));
  option("--kv-memory", typed.kv_memory, "SIZE",
         "memory for KV pages alone, as banyan serve takes it")
      ->check(Bytes(kMinKvMemory, kMaxKvMemory));
  option("--weights", typed.weights, "SIZE",
         "how large the weights are, whatever the model says (of a config.json they are estimated)")
      ->check(Bytes(0, kMaxMemory));
  option("--page-size", typed.page_size, "N",
         absl::StrCat("tokens per KV page, ", kMinPageSize, "..", kMaxPageSize))
      ->default_str(typed.page_size)
      ->check(Integers(kMinPageSize, kMaxPageSize));
  option("--max-running", typed.max_running, "N",
         "requests at once, as banyan serve takes it: what open pages take follows from it")
      ->default_str(typed.max_running)
      ->check(Integers(1, kMaxRunning));
  app.add_flag("--explain", typed.explain, "say how every figure comes about");
  app.add_flag("--json", typed.json, "as a JSON object");
  app.footer(std::string(kNotes));
  app.get_formatter()->column_width(26);
}

std::int64_t NumberOr0(const std::string& typed) {
  return typed.empty() ? 0 : *ParseInteger(typed);
}

std::optional<std::int64_t> BytesIfAny(const std::string& typed) {
  if (typed.empty()) return std::nullopt;
  return *ParseBytes(typed);
}

}  // namespace

Command ParsePlan(std::span<const char* const> arguments) {
  CLI::App app("Plans the memory of a model and its users.", "banyan plan");
  Typed typed;
  Declare(app, typed);
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  if (typed.model.empty() == typed.shape.empty()) {
    return Refuse(app, typed.model.empty() ? "MODEL or --shape is needed"
                                           : "MODEL and --shape exclude each other");
  }
  if (!typed.memory.empty() && !typed.kv_memory.empty()) {
    return Refuse(app, "--memory and --kv-memory exclude each other");
  }
  PlanOptions options;
  options.source = typed.shape.empty() ? typed.model : typed.shape;
  if (!typed.shape.empty()) {
    absl::StatusOr<CacheShape> shape = ParseShape(typed.shape);
    if (!shape.ok()) return Refuse(app, absl::StrCat("--shape: ", shape.status().message()));
    options.shape = *std::move(shape);
  }
  options.workload.page_size = *ParseInteger(typed.page_size);
  options.workload.max_running = *ParseInteger(typed.max_running);
  options.workload.context = NumberOr0(typed.context);
  options.workload.sessions = NumberOr0(typed.sessions);
  options.workload.shared_prefix = NumberOr0(typed.shared_prefix);
  options.workload.kv_memory = BytesIfAny(typed.kv_memory);
  options.memory = BytesIfAny(typed.memory);
  options.weights = BytesIfAny(typed.weights);
  options.detail = typed.explain ? PlanDetail::kExplained : PlanDetail::kFigures;
  options.format = typed.json ? ReportFormat::kJson : ReportFormat::kText;
  return options;
}

}  // namespace banyan::server
