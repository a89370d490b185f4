#include <cstddef>
#include <cstdio>
#include <variant>

#include "server/options.h"
#include "server/serve.h"

int main(int argc, char** argv) {
  auto parsed = banyan::server::ParseCommandLine({argv, static_cast<std::size_t>(argc)});
  if (const auto* exit = std::get_if<banyan::server::Exit>(&parsed)) {
    if (exit->code == 0) {
      std::fputs(exit->text.c_str(), stdout);
    } else {
      std::fprintf(stderr, "%s\n", exit->text.c_str());
    }
    return exit->code;
  }
  return banyan::server::Serve(std::get<banyan::server::ServeOptions>(parsed));
}
