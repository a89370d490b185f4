#include "server/serve_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "model/model.h"
#include "server/arguments.h"
#include "server/kv_policy.h"
#include "server/processors.h"
#include "server/quantity.h"
#include "server/validators.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kMaxDevice = 1023;
constexpr std::int64_t kMaxQueue = 1'000'000;
constexpr std::int64_t kMaxPasses = 1'000'000;
constexpr std::int64_t kMaxAgeingMs = 24 * 3'600'000;
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::int64_t kMaxDrainMs = 24 * 3'600'000;

constexpr std::string_view kExamples =
    "Every option can also be given as an environment variable (BANYAN_KV_MEMORY=4GiB) or as a "
    "line\n"
    "of the --config file (kv-memory = \"4GiB\"). The command line wins over the file, the file "
    "over\n"
    "the environment.\n"
    "\n"
    "Examples:\n"
    "  banyan serve --model SmolLM2-135M-Instruct.Q4_1.gguf\n"
    "  banyan serve --model model.gguf --host 0.0.0.0 --port 80 --kv-memory 8GiB --threads 8\n"
    "  banyan serve --model null --port 0          # no weights: tests the serving path alone\n"
    "\n"
    "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\\n"
    "    -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}],\"stream\":true}'\n"
    "\n"
    "SIGTERM or SIGINT: finishes what runs, at most --drain-timeout, and exits with 0. A second\n"
    "signal ends it at once.";

// One of `accepted`; of `known`, those that are not accepted are refused as not there yet.
CLI::Validator OneOf(std::vector<std::string> accepted, std::vector<std::string> known) {
  auto check = [=](const std::string& text) -> std::string {
    if (std::find(accepted.begin(), accepted.end(), text) != accepted.end()) return "";
    std::string allowed;
    for (const std::string& value : accepted) {
      absl::StrAppend(&allowed, allowed.empty() ? "" : " or ", value);
    }
    const bool is_known = std::find(known.begin(), known.end(), text) != known.end();
    return absl::StrCat("'", text, is_known ? "' is not supported yet" : "' is not known", " (use ",
                        allowed, ")");
  };
  return CLI::Validator(check, "");
}

std::vector<std::string> KvFormatNames() {
  std::vector<std::string> names;
  for (const kernels::KvFormat format : kernels::kKvFormats)
    names.emplace_back(kernels::LayoutOf(format).name);
  return names;
}

std::string EnvironmentName(std::string_view option) {
  std::string name = absl::StrReplaceAll(std::string(option), {{"-", "_"}});
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "BANYAN_" + name;
}

// The options as typed; each was validated by CLI11 before it is read.
struct Typed {
  std::string model, chat_template,
      host = "127.0.0.1", port = "8080", kv_memory, page_size = "16", kv_dtype = "f16",
      kv_policy = "exact", backend = "cpu", device = "0", deterministic = "off", threads,
      bind_threads = "off", cpu_variant = "auto", max_batch_tokens = "256",
      mixed_prefill_tokens = "16", max_running = "64", max_queue = "256", prefix_caching = "on",
      eviction = "lru", max_passes = "16", priority_ageing = "10s", served_model_name,
      drain_timeout = "30s", log_format = "text";
};

void Declare(CLI::App& app, Typed& typed) {
  auto option = [&app](std::string name, std::string& target, std::string help, std::string type,
                       std::string default_text) {
    return app.add_option("--" + name, target, std::move(help))
        ->envname(EnvironmentName(name))
        ->type_name(std::move(type))
        ->default_str(std::move(default_text));
  };
  option("model", typed.model, "a GGUF file, or null for a model without weights", "FILE|null", "")
      ->required();
  option("served-model-name", typed.served_model_name,
         "the model's name in the API (default: the file's name without its ending, or null)",
         "NAME", "");
  option("chat-template", typed.chat_template,
         "a file with a Jinja chat template, instead of the model's own", "FILE", "");
  option("host", typed.host, "address to listen on; 0.0.0.0 for all", "ADDRESS", typed.host);
  option("port", typed.port, "TCP port, 0..65535; 0 picks a free one, which is printed", "PORT",
         typed.port)
      ->check(Integers(0, 65535));
  option("kv-memory", typed.kv_memory,
         "memory for KV pages, 1KiB..16TiB (B, KiB, MiB, GiB, TiB; default: 1GiB, and with "
         "--backend cuda what the device has free)",
         "SIZE", "")
      ->check(Bytes(kMinKvMemory, kMaxKvMemory));
  option("page-size", typed.page_size, "tokens per KV page, 1..1024", "N", typed.page_size)
      ->check(Integers(kMinPageSize, kMaxPageSize));
  option("kv-dtype", typed.kv_dtype,
         "how pages keep keys and values: f16, bf16, fp8 (e4m3), int8, the last two in half the "
         "memory, or int4, in less than a third",
         "TYPE", typed.kv_dtype)
      ->check(OneOf(KvFormatNames(), {"f32"}));
  option("kv-policy", typed.kv_policy,
         "what requests that say nothing of it keep of their keys and values: exact, which is all; "
         "or streaming:sinks=4,window=1024, the first tokens and the last ones, so that a "
         "conversation goes on beyond the context in constant memory",
         "POLICY", typed.kv_policy)
      ->check([](const std::string& text) {
        return std::string(ParseKvPolicy(text).status().message());
      });
  option("backend", typed.backend,
         "what computes: cpu, or cuda, a device of NVIDIA's, in builds that have it", "BACKEND",
         typed.backend)
      ->check(OneOf({"cpu", "cuda"}, {}));
  option("device", typed.device, "with --backend cuda: which of the machine's devices, from 0", "N",
         typed.device)
      ->check(Integers(0, kMaxDevice));
  option("deterministic", typed.deterministic,
         "with --backend cuda: on, answers are the same bits whatever else is computed beside "
         "them, and each step costs as much as a full one; the CPU's always are",
         "on|off", typed.deterministic)
      ->check(OneOf({"on", "off"}, {}));
  option("threads", typed.threads, std::string(kThreadsHelp), "N", "")
      ->check(Integers(1, kMaxThreads));
  option("bind-threads", typed.bind_threads,
         "on: each compute thread keeps to a processor of its own, for machines that run nothing "
         "else and for those with several memory nodes",
         "on|off", typed.bind_threads)
      ->check(OneOf({"on", "off"}, {}));
  option("cpu-variant", typed.cpu_variant,
         absl::StrCat("the instructions that compute, with the same results: auto, which is the "
                      "first that the machine runs of ",
                      absl::StrJoin(model::CpuVariants(), ", "), ", or one by name"),
         "NAME", typed.cpu_variant)
      ->check(CpuVariant());
  option("max-batch-tokens", typed.max_batch_tokens,
         "most tokens computed in one step, 2..65536, over --max-running; a longer prompt is "
         "computed in chunks",
         "N", typed.max_batch_tokens)
      ->check(Integers(2, kMaxBatchTokens));
  option(
      "mixed-prefill-tokens", typed.mixed_prefill_tokens,
      "most tokens of prompts in a step that also decodes, n times as many where n requests wait "
      "for each that decodes, 1..65536: fewer make answers flow more evenly, more make long "
      "prompts wait less",
      "N", typed.mixed_prefill_tokens)
      ->check(Integers(1, kMaxBatchTokens));
  option("max-running", typed.max_running, "most requests running at once, 1..4096", "N",
         typed.max_running)
      ->check(Integers(1, kMaxRunning));
  option("max-queue", typed.max_queue,
         "most requests waiting to run, 1..1000000; one more is answered 429", "N", typed.max_queue)
      ->check(Integers(1, kMaxQueue));
  option("prefix-caching", typed.prefix_caching,
         "on, or off: every prompt is computed from its beginning, to compare and to look for "
         "faults; the answers are the same, bit for bit",
         "on|off", typed.prefix_caching)
      ->check(OneOf({"on", "off"}, {}));
  option("eviction", typed.eviction,
         "what the cache gives up first: lru, the least recently used; fifo, the oldest; lfu, the "
         "least often used; reuse, as lru, but what was used again stays longer",
         "POLICY", typed.eviction)
      ->check(OneOf({"lru", "fifo", "lfu", "reuse"}, {}));
  option("max-passes", typed.max_passes,
         "how often the request that waits longest may be passed over by younger ones of its "
         "priority of which more is cached, 0..1000000",
         "N", typed.max_passes)
      ->check(Integers(0, kMaxPasses));
  option("priority-ageing", typed.priority_ageing,
         "so much waiting raises a request's priority by one, 1ms..24h (ms, s, m, h)", "TIME",
         typed.priority_ageing)
      ->check(Durations(1, kMaxAgeingMs));
  option("drain-timeout", typed.drain_timeout,
         "how long running requests may take to finish after SIGTERM, 0..24h (ms, s, m, h)", "TIME",
         typed.drain_timeout)
      ->check(Durations(0, kMaxDrainMs));
  option("log-format", typed.log_format, "log lines on stderr: text or json", "FORMAT",
         typed.log_format)
      ->check(OneOf({"text", "json"}, {}));
  // CLI11 reads the file before it looks at the environment, so the variable is read here. A file
  // that was named must be there.
  const char* named = std::getenv("BANYAN_CONFIG");
  const std::string file = named == nullptr ? "" : named;
  app.set_config("--config", file, "a TOML file with any of these options", !file.empty())
      ->envname("BANYAN_CONFIG")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

// `typed` was validated, so that no parse fails.
ServeOptions Convert(const Typed& typed) {
  ServeOptions options;
  options.model = typed.model;
  options.served_model_name = typed.served_model_name;
  if (options.served_model_name.empty()) {
    options.served_model_name =
        options.is_null_model() ? "null" : std::filesystem::path(typed.model).stem().string();
  }
  options.chat_template = typed.chat_template;
  options.host = typed.host;
  options.port = static_cast<std::uint16_t>(*ParseInteger(typed.port));
  if (typed.backend == "cuda") {
    options.backend = model::Backend::kCuda;
    options.kv_memory = 0;
  }
  options.device = static_cast<std::int32_t>(*ParseInteger(typed.device));
  options.deterministic = typed.deterministic == "on";
  if (!typed.kv_memory.empty()) options.kv_memory = *ParseBytes(typed.kv_memory);
  options.page_size = static_cast<std::int32_t>(*ParseInteger(typed.page_size));
  options.kv_format = *kernels::FindKvFormat(typed.kv_dtype);
  options.kv_policy = *ParseKvPolicy(typed.kv_policy);
  options.threads = ThreadsOf(typed.threads);
  options.bind_threads = typed.bind_threads == "on";
  if (typed.cpu_variant != "auto") options.cpu_variant = typed.cpu_variant;
  options.io_threads = std::clamp(UsableProcessors() / 4, 2, 8);
  options.max_batch_tokens = static_cast<std::int32_t>(*ParseInteger(typed.max_batch_tokens));
  options.mixed_prefill_tokens =
      static_cast<std::int32_t>(*ParseInteger(typed.mixed_prefill_tokens));
  options.max_running = static_cast<std::int32_t>(*ParseInteger(typed.max_running));
  options.max_queue = *ParseInteger(typed.max_queue);
  options.eviction = *radix::ParseEviction(typed.eviction);
  options.prefix_caching =
      typed.prefix_caching == "on" ? scheduler::PrefixCaching::kOn : scheduler::PrefixCaching::kOff;
  options.max_passes = static_cast<std::int32_t>(*ParseInteger(typed.max_passes));
  options.priority_ageing = *ParseDuration(typed.priority_ageing);
  options.drain_timeout = *ParseDuration(typed.drain_timeout);
  options.log_format = typed.log_format == "json" ? LogFormat::kJson : LogFormat::kText;
  return options;
}

// The name goes into JSON, metrics and the terminal.
bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         FirstInvalidUtf8(name) == std::string_view::npos &&
         std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

}  // namespace

Command ParseServe(std::span<const char* const> arguments) {
  CLI::App app("Serves a model over the OpenAI API.", "banyan serve");
  app.footer(std::string(kExamples));
  app.get_formatter()->column_width(34);
  Typed typed;
  Declare(app, typed);
  if (std::optional<Exit> exit = ParseArguments(app, arguments)) return *std::move(exit);
  if (typed.model.empty())
    return Refuse(app, "--model: a path or null is needed, not an empty text");
  ServeOptions options = Convert(typed);
  if (!IsName(options.served_model_name)) {
    return Refuse(app, absl::StrCat("--served-model-name: ", Quote(options.served_model_name),
                                    " is not 1 to ", kMaxNameBytes, " bytes of UTF-8 in one line"));
  }
  if (options.is_null_model() && options.backend == model::Backend::kCuda) {
    return Refuse(app, "--backend cuda: a model without weights is computed by the CPU");
  }
  if (options.is_null_model() && !options.chat_template.empty()) {
    return Refuse(app, "--chat-template: a model without weights has a template of its own");
  }
  if (options.max_batch_tokens <= options.max_running) {
    return Refuse(app, absl::StrCat("--max-batch-tokens: ", options.max_batch_tokens,
                                    " must be over --max-running, which is ", options.max_running));
  }
  return options;
}

}  // namespace banyan::server
