#include "server/serve.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "http/server.h"
#include "server/engine.h"
#include "server/fail.h"
#include "server/kv_policy.h"
#include "server/loading.h"
#include "server/logging.h"
#include "server/metrics.h"
#include "server/openai/routes.h"
#include "server/service.h"

namespace banyan::server {
namespace {

namespace asio = boost::asio;

// How long clients may take to read that the server ended before their answer did.
constexpr std::chrono::milliseconds kLastWords{1000};

// Of the pool's pages, what preempted requests may have put aside in memory of the host: one in so
// many.
constexpr std::int32_t kAsideShare = 4;

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string Url(const std::string& host, std::uint16_t port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return absl::StrCat("http://", ipv6 ? "[" : "", host, ipv6 ? "]" : "", ":", port);
}

http::Options HttpOptions(const ServeOptions& options, Metrics& metrics) {
  http::Options out;
  out.host = options.host;
  out.port = options.port;
  out.io_threads = options.io_threads;
  out.on_error = [](const std::string& what) {
    Log(Severity::kWarning, "http", {{"reason", what}});
  };
  out.on_refused = [&metrics](const std::string& code) { metrics.CountHttpError(code); };
  return out;
}

EngineOptions EngineOptionsOf(const ServeOptions& options, const model::Model& model) {
  EngineOptions out;
  out.cache.page_size = options.page_size;
  out.cache.pages = model.pages();
  out.cache.eviction = options.eviction;
  if (model.facts().seals_pages) out.cache.sharing = radix::Sharing::kPages;
  out.scheduling.max_batch_tokens = options.max_batch_tokens;
  out.scheduling.mixed_prefill_tokens = options.mixed_prefill_tokens;
  out.scheduling.max_running = options.max_running;
  out.scheduling.context_length = model.facts().context_length;
  out.scheduling.prefix_caching = options.prefix_caching;
  out.scheduling.max_passes = options.max_passes;
  out.scheduling.ageing = options.priority_ageing;
  out.scheduling.max_pages_aside = model.pages() / kAsideShare;
  out.max_queue = static_cast<std::size_t>(options.max_queue);
  return out;
}

absl::Status CheckDefaultPolicy(const ServeOptions& options, const model::Model& model) {
  if (!options.kv_policy) return absl::OkStatus();
  const EngineOptions engine = EngineOptionsOf(options, model);
  return CheckServable(model.facts(), engine.scheduling, engine.cache, *options.kv_policy);
}

// The signals that end the server. After the first one they have their usual effect again, so that
// a second one ends the process at once.
class Signals {
 public:
  Signals() : set_(context_, SIGTERM, SIGINT) {
    std::signal(SIGPIPE, SIG_IGN);  // a log or terminal that is gone is no reason to end
    set_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      arrived_ = true;
      set_.clear();
    });
  }

  // Runs `work` on a thread of its own; true when it ended before a signal came. If not, the
  // thread still runs and the process must end without it.
  bool RunUnlessSignalled(const std::function<void()>& work) {
    bool done = false;
    std::thread thread([&] {
      work();
      asio::post(context_, [&done] { done = true; });
    });
    while (!done && !arrived_) context_.run_one();
    if (!done) {
      thread.detach();
      return false;
    }
    thread.join();
    return true;
  }

  void Wait() {
    while (!arrived_) context_.run_one();
  }

 private:
  asio::io_context context_{1};
  asio::signal_set set_;
  bool arrived_ = false;
};

void LogReady(const ServeOptions& options, const ServedModel& model, std::size_t page_bytes,
              Tick loading) {
  Log(Severity::kInfo, "ready",
      {{"version", BANYAN_VERSION},
       {"model", options.served_model_name},
       {"architecture", model.facts.architecture},
       {"parameters", model.facts.parameters},
       {"weight_bytes", model.facts.weight_bytes},
       {"context_length", model.facts.context_length},
       {"pages", model.cache.pages},
       {"page_size", model.cache.page_size},
       {"kv_dtype", model.facts.kv_dtype},
       {"kv_bytes",
        static_cast<std::int64_t>(page_bytes) * model.cache.pages + model.facts.kv_open_bytes},
       {"prefix_caching", model.scheduling.prefix_caching == scheduler::PrefixCaching::kOn},
       {"cpu_variant", model.facts.cpu_variant},
       {"device", model.facts.device},
       {"threads", options.threads},
       {"load_seconds", Seconds(loading)}});
}

void SayReady(const ServeOptions& options, const ServedModel& model, std::uint16_t port) {
  const std::string url = Url(options.host, port);
  Say(absl::StrCat("banyan: ready on ", url, " (model ", options.served_model_name, ", ",
                   model.cache.pages, " pages of ", model.cache.page_size, " tokens)\n",
                   "Try it:\n  curl ", url,
                   "/v1/chat/completions -H 'Content-Type: application/json' -d "
                   R"('{"messages":[{"role":"user","content":"What is the capital of )"
                   R"(France? Answer in one sentence."}],"temperature":0}')"));
}

// What runs once the model is loaded.
struct Running {
  ServedModel model;
  std::optional<Engine> engine;
};

// From a loaded model to the end; afterwards nothing runs any more.
void ServeModel(const ServeOptions& options, LoadedModel loaded, http::Server& server,
                Service& service, Signals& signals, Running& running, Tick started) {
  ServedModel& model = running.model;
  EngineOptions engine_options = EngineOptionsOf(options, *loaded.model);
  engine_options.on_device_failure = [&service] { service.Fail(); };
  model.facts = loaded.model->facts();
  model.codec = std::move(loaded.codec);
  model.cache = engine_options.cache;
  model.scheduling = engine_options.scheduling;
  model.kv_policy = options.kv_policy;
  const std::size_t page_bytes = loaded.model->page_bytes();
  Engine& engine = running.engine.emplace(std::move(loaded.model), engine_options, service.clock(),
                                          service.metrics());
  model.inbox = &engine.inbox();
  engine.Start();
  service.Publish(model);
  LogReady(options, model, page_bytes, service.clock().Now() - started);
  SayReady(options, model, server.port());

  signals.Wait();
  service.Drain();
  server.StopAccepting();
  engine.inbox().Close();
  Log(Severity::kInfo, "draining",
      {{"connections", server.connections()},
       {"timeout_seconds", std::chrono::duration<double>(options.drain_timeout).count()}});
  server.WaitIdle(options.drain_timeout);
  engine.Stop();  // what is left is told that it will not be finished
  server.Stop(kLastWords);
  Log(Severity::kInfo, "stopped", {});
}

}  // namespace

int Serve(const ServeOptions& options) {
  const SteadyClock clock;
  const Tick started = clock.Now();
  Metrics metrics(options.served_model_name);
  Service service(options.served_model_name, clock, metrics);
  Signals signals;
  // Stopped before the server goes, as its streams wake coroutines of the server; destroyed after
  // it, as coroutines that are still there cancel their requests when they are destroyed.
  Running running;

  auto server = http::Server::Listen(HttpOptions(options, metrics), openai::Routes(service));
  if (!server.ok()) return Fail(server.status().message());
  const LogSession log(options.log_format);
  (*server)->Start();
  Say(absl::StrCat("banyan: listening on ", Url(options.host, (*server)->port()),
                   ", loading the model"));

  absl::StatusOr<LoadedModel> loaded = absl::UnknownError("not loaded");
  if (!signals.RunUnlessSignalled([&] { loaded = LoadModel(options); })) {
    std::_Exit(0);  // nothing runs that would have to be finished
  }
  if (!loaded.ok()) {
    (*server)->Stop(std::chrono::milliseconds(0));
    return Fail(loaded.status().message());
  }
  if (absl::Status status = CheckDefaultPolicy(options, *loaded->model); !status.ok()) {
    (*server)->Stop(std::chrono::milliseconds(0));
    return Fail(absl::StrCat("--kv-policy: ", status.message()));
  }
  ServeModel(options, *std::move(loaded), **server, service, signals, running, started);
  return 0;
}

}  // namespace banyan::server
