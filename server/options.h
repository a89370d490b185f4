// The command line of `banyan`: one source for options, their environment variables (BANYAN_<NAME>)
// and the configuration file. Nothing else in the process reads argv or the environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/kv_shape.h"
#include "model/model.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"
#include "server/eval/configuration.h"
#include "server/known_models.h"
#include "server/plan/plan.h"
#include "server/plan/subject.h"

namespace banyan::server {

inline constexpr std::int64_t kMinKvMemory = 1 << 10;
inline constexpr std::int64_t kMaxKvMemory = std::int64_t{16} << 40;
inline constexpr std::int64_t kMaxRunning = 4096;

enum class LogFormat : std::uint8_t { kText, kJson };

struct ServeOptions {
  std::string model;  // a path, or "null"
  std::string served_model_name;
  std::string chat_template;  // a file's path; empty: the model's own
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;                       // 0: a free one
  std::int64_t kv_memory = std::int64_t{1} << 30;  // bytes; 0: what the device has free
  std::int32_t page_size = 16;                     // tokens
  kernels::KvFormat kv_format = kernels::KvFormat::kF16;
  std::optional<scheduler::KvPolicy> kv_policy;  // of requests that say nothing of it
  model::Backend backend = model::Backend::kCpu;
  std::int32_t device = 0;     // of kCuda
  bool deterministic = false;  // likewise; the CPU always is
  std::int32_t threads = 1;    // compute threads
  bool bind_threads = false;
  std::string cpu_variant;              // empty: the quickest that runs
  std::int32_t io_threads = 2;          // follows from the machine
  std::int32_t max_batch_tokens = 256;  // > max_running
  std::int32_t mixed_prefill_tokens = 16;
  std::int32_t max_running = 64;
  std::int64_t max_queue = 256;
  scheduler::PrefixCaching prefix_caching = scheduler::PrefixCaching::kOn;
  radix::Eviction eviction = radix::Eviction::kLru;
  std::int32_t max_passes = 16;
  std::chrono::milliseconds priority_ageing{10'000};
  std::chrono::milliseconds drain_timeout{30'000};
  LogFormat log_format = LogFormat::kText;

  bool is_null_model() const { return model == "null"; }
};

enum class ReportFormat : std::uint8_t { kText, kJson };

struct ModelInfoOptions {
  std::string file;
  ReportFormat format = ReportFormat::kText;
};

struct ModelGetOptions {
  const KnownModel* model = nullptr;
  std::string target;  // the path that the file is to have
};

enum class BenchScope : std::uint8_t { kAll, kRoofs };

struct BenchKernelsOptions {
  std::string model;    // a file whose shapes are measured; empty: those of SmolLM2-135M
  std::string variant;  // of instructions; empty: the quickest
  std::int32_t threads = 1;
  std::chrono::milliseconds time{5'000};
  BenchScope scope = BenchScope::kAll;
  ReportFormat format = ReportFormat::kText;
};

enum class PlanDetail : std::uint8_t { kFigures, kExplained };

struct PlanOptions {
  std::string source;               // what ReadSubject takes, or the shape as it was typed
  std::optional<CacheShape> shape;  // that passes CheckCacheShape
  Workload workload;
  std::optional<std::int64_t> memory;   // bytes, for weights and pages; then no workload.kv_memory
  std::optional<std::int64_t> weights;  // bytes, whatever the model says
  PlanDetail detail = PlanDetail::kFigures;
  ReportFormat format = ReportFormat::kText;
};

struct EvalOptions {
  std::string model;                          // a GGUF file
  std::string text;                           // a file that is read
  std::vector<Configuration> configurations;  // exact f16 first
  std::int64_t tokens = 20'480;               // of the text, at most
  std::int64_t context = 0;                   // of what is read in one piece; 0: as is usual
  std::int32_t passkeys = 2;                  // at each depth and length
  std::int32_t threads = 1;
  std::string json, svg, markdown;  // files to be written; empty: not
};

// The process ends at once: after --help and --version (code 0, `text` on stdout), or because a
// value was refused (code 1, `text` is one line for stderr).
struct Exit {
  int code = 0;
  std::string text;
};

using Command = std::variant<ServeOptions, ModelInfoOptions, ModelGetOptions, BenchKernelsOptions,
                             PlanOptions, EvalOptions, Exit>;

// `arguments` are argv with the program's name. Every value is checked: what is returned is usable.
Command ParseCommandLine(std::span<const char* const> arguments);

}  // namespace banyan::server
