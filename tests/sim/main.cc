// banyan_sim SEED: one simulation, with what happened, or what went wrong and what led to it.
// banyan_sim FIRST COUNT [LEAST]: so many, until one fails; each kind of event must have happened
// at least LEAST times in all. With --all before it the trace of a failure has every request's
// events, not only those that concern the one that it was found with.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/sim/world.h"

namespace banyan::sim {
namespace {

// A watchdog, not a measure: a seed takes some milliseconds.
constexpr unsigned kSecondsPerSeed = 60;

// The simulation that runs, for what ends it without an exception.
std::uint64_t current_seed = 0;
const World* current_world = nullptr;
bool trace_all = false;

void Report(const char* what, RequestId request) {
  std::string who;
  if (request != kNobody) who = "request " + std::to_string(static_cast<std::uint64_t>(request));
  std::fprintf(stderr, "seed %llu failed at tick %d: %s%s%s\n",
               static_cast<unsigned long long>(current_seed),
               current_world == nullptr ? 0 : current_world->stage().trace.tick(), who.c_str(),
               who.empty() ? "" : " ", what);
  if (current_world != nullptr) {
    std::fprintf(stderr, "  %s\n", Words(current_world->stage().scenario).c_str());
    std::fputs(current_world->stage().trace.Tail(trace_all ? kNobody : request).c_str(), stderr);
  }
  std::fprintf(stderr, "replay it: ./dev sim %llu\n",
               static_cast<unsigned long long>(current_seed));
  std::fflush(stderr);
}

// A CHECK of the product, a sanitizer or a fault of memory ends the process here. The handler does
// more than a handler should, in a process that is at its end anyway.
void OnSignal(int signal) {
  std::signal(SIGABRT, SIG_DFL);
  Report(signal == SIGALRM   ? "a call does not return"
         : signal == SIGSEGV ? "memory that is not there is used"
                             : "the program is broken off",
         kNobody);
  _exit(1);
}

void RunSeed(std::uint64_t seed, Counts& counts) {
  current_seed = seed;
  alarm(kSecondsPerSeed);
  World world(seed, MakeScenario(seed));
  current_world = &world;
  try {
    world.Run();
  } catch (const Failure& failure) {
    Report(failure.what(), failure.request());
    _exit(1);  // what failed is not fit to be destroyed
  }
  current_world = nullptr;
  counts.Add(world.stage().counts);
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--all") {
    trace_all = true;
    --argc;
    ++argv;
  }
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: banyan_sim [--all] SEED | FIRST COUNT [LEAST]\n");
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM}) {
    std::signal(signal, OnSignal);
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Counts counts;
  for (std::uint64_t seed = first; seed < first + count; ++seed) RunSeed(seed, counts);
  std::printf("%s\n", counts.Words().c_str());
  if (argc < 4) return 0;
  const std::string missing = counts.Missing(std::atoll(argv[3]));
  if (missing.empty()) return 0;
  std::fprintf(stderr, "the seeds do not reach what they are for: %s\n", missing.c_str());
  return 1;
}

}  // namespace
}  // namespace banyan::sim

#ifdef __SANITIZE_ADDRESS__
// So that a finding reaches OnSignal, which says in which seed it was.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }
#endif

int main(int argc, char** argv) { return banyan::sim::Main(argc, argv); }
