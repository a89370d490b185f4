#include <CLI/CLI.hpp>
#include <cstdio>

#include "loadtest/commands/calibrate.h"
#include "loadtest/commands/compare.h"
#include "loadtest/commands/options.h"
#include "loadtest/commands/run.h"
#include "loadtest/commands/simulate.h"

int main(int argc, char** argv) {
  CLI::App app("Load tests of OpenAI-compatible servers: replays traces, measures, and simulates.",
               "banyan-loadtest");
  app.set_version_flag("--version", "banyan-loadtest " BANYAN_VERSION);
  app.require_subcommand(1);
  int status = banyan::loadtest::kExitOk;
  banyan::loadtest::AddRun(app, status);
  banyan::loadtest::AddCompare(app, status);
  banyan::loadtest::AddSimulate(app, status);
  banyan::loadtest::AddCalibrate(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help, version
    return app.exit(asked);
  } catch (const CLI::Error& error) {
    std::fprintf(stderr, "banyan-loadtest: %s (see --help)\n", error.what());
    return banyan::loadtest::kExitUsage;
  }
  return status;
}
