// SPDX-License-Identifier: Apache-2.0
#include "phantom/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace memtape::phantom_run {
namespace {

using Clock = std::chrono::steady_clock;
constexpr useconds_t kQuickLook = 20000, kSlowLook = 200000;

volatile sig_atomic_t child_pid = 0;
void pass_on(int signal) {
  if (child_pid > 0) kill(child_pid, signal);
}

/// Signals that end a program reach the child, which decides; this process lives on to report.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    struct sigaction action{};
    action.sa_handler = pass_on;
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &action, &before_[i]);
  }
  ~SignalsPassedOn() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kSignals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  struct sigaction before_[4]{};
};

[[noreturn]] void become(const ChildCommand& command) {
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!command.log.empty()) {
    const int log = open(command.log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
  }
  if (command.output_to_errors) dup2(STDERR_FILENO, STDOUT_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execve(command.path.c_str(), words.data(), environ);
  _exit(errno == ENOEXEC ? 126 : 127);
}

ChildEnd end_of(int status, Clock::time_point began) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), seconds};
  return {WEXITSTATUS(status), 0, seconds};
}

}  // namespace

Result<ChildEnd> run_child(const ChildCommand& command, const std::function<void()>& watch) {
  const Clock::time_point began = Clock::now();
  const SignalsPassedOn passed_on;
  const pid_t pid = fork();
  if (pid == 0) become(command);
  if (pid < 0)
    return tl::unexpected(Error{ErrorKind::internal, std::strerror(errno), command.path, {}});
  child_pid = pid;
  for (int looks = 0;; ++looks) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) {
      child_pid = 0;
      return end_of(status, began);
    }
    watch();
    usleep(looks < 50 ? kQuickLook : kSlowLook);
  }
}

}  // namespace memtape::phantom_run
