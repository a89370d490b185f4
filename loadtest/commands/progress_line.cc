#include "loadtest/commands/progress_line.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "loadtest/report/format.h"

namespace banyan::loadtest {
namespace {

bool OnTerminal() {
  static const bool on_terminal = isatty(STDERR_FILENO) == 1;
  return on_terminal;
}

}  // namespace

std::string ProgressLine(const Progress& progress) {
  std::string line = absl::StrFormat("%.0fs %d/%d done", Seconds(progress.at),
                                     progress.finished + progress.failed, progress.planned);
  if (progress.failed > 0) absl::StrAppendFormat(&line, " (%d failed)", progress.failed);
  absl::StrAppendFormat(&line, ", %d in flight, %.1f/s, %.0f tok/s", progress.in_flight,
                        progress.rate, progress.tokens_per_second);
  if (progress.ttft_p99 > Tick(0)) {
    absl::StrAppendFormat(&line, ", TTFT %s/%s", FormatTime(progress.ttft_p50),
                          FormatTime(progress.ttft_p99));
  }
  if (!std::isnan(progress.hit_rate)) {
    absl::StrAppendFormat(&line, ", hits %.0f%%", 100 * progress.hit_rate);
  }
  if (progress.time_left) {
    absl::StrAppendFormat(&line, ", %.0fs left", std::ceil(Seconds(*progress.time_left)));
  }
  return line;
}

void ShowProgress(const Progress& progress) {
  const std::string line = ProgressLine(progress);
  std::fprintf(stderr, OnTerminal() ? "\r%s\033[K" : "%s\n", line.c_str());
}

void EndProgress() {
  if (OnTerminal()) std::fprintf(stderr, "\r\033[K");
}

}  // namespace banyan::loadtest
