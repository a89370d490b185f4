#include "server/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace banyan::server {
namespace {

// The line that says best what went wrong: the last error, else the last that says anything.
std::string WhatItSaid(const std::string& log) {
  std::string last;
  std::string error;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    last = line;
    if (absl::StartsWithIgnoreCase(line, "error")) error = line;
  }
  return error.empty() ? last : error;
}

// What the child starts with: no input, both outputs in `log`, Ctrl-C with its usual effect.
class Start {
 public:
  explicit Start(const std::string& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    posix_spawnattr_setsigdefault(&attributes_, &interrupt);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~Start() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

int WaitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

absl::Status RunProgram(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string& program = arguments.front();
  // The terminal sends Ctrl-C to both: the child ends, and whoever asked cleans up after it.
  void (*const before)(int) = std::signal(SIGINT, SIG_IGN);
  pid_t child = 0;
  const Start start(log);
  const int error =
      ::posix_spawnp(&child, argv[0], start.files(), start.attributes(), argv.data(), environ);
  const int status = error == 0 ? WaitFor(child) : 0;
  std::signal(SIGINT, before);
  if (error != 0) {
    const std::string message = absl::StrCat(program, " cannot be run: ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::AbortedError(message);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFSIGNALED(status)) {
    return absl::AbortedError(absl::StrCat(program, " was ended by signal ", WTERMSIG(status)));
  }
  return absl::AbortedError(
      absl::StrCat(program, " ended with status ", WEXITSTATUS(status), ": ", WhatItSaid(log)));
}

}  // namespace banyan::server
