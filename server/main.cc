#include <cstddef>
#include <cstdio>
#include <variant>

#include "server/bench/kernels.h"
#include "server/eval/command.h"
#include "server/fail.h"
#include "server/model_get.h"
#include "server/model_info.h"
#include "server/options.h"
#include "server/plan/command.h"
#include "server/serve.h"

namespace banyan::server {
namespace {

int Run(const ServeOptions& options) { return Serve(options); }
int Run(const ModelInfoOptions& options) { return ModelInfo(options); }
int Run(const ModelGetOptions& options) { return ModelGet(options); }
int Run(const BenchKernelsOptions& options) { return BenchKernels(options); }
int Run(const PlanOptions& options) { return RunPlan(options); }
int Run(const EvalOptions& options) { return RunEval(options); }

int Run(const Exit& exit) {
  if (exit.code == 0) return Print(exit.text);
  std::fprintf(stderr, "%s\n", exit.text.c_str());
  return exit.code;
}

}  // namespace
}  // namespace banyan::server

int main(int argc, char** argv) {
  using banyan::server::ParseCommandLine;
  return std::visit([](const auto& command) { return banyan::server::Run(command); },
                    ParseCommandLine({argv, static_cast<std::size_t>(argc)}));
}
