// SPDX-License-Identifier: Apache-2.0
#include "answer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::service {
namespace {

constexpr const char* kWhere = "request";

bool write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

/// The child: the exit code as four bytes, then the text. Memory that is exhausted ends it, and its
/// silence says so.
[[noreturn]] void answer_into(int pipe, const AnswerProcess::Work& work, const Limits& limits) {
  const rlimit memory{limits.memory, limits.memory};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(SIGPIPE, SIG_DFL);
  std::set_new_handler([] { ::_exit(ENOMEM); });
  const answer::Answered answered = work();
  const auto code = static_cast<std::int32_t>(answered.exit_code);
  std::array<char, sizeof code> head{};
  std::memcpy(head.data(), &code, sizeof code);
  const bool written = write_all(pipe, head.data(), head.size()) &&
                       write_all(pipe, answered.text.data(), answered.text.size());
  ::_exit(written ? 0 : EPIPE);
}

}  // namespace

Result<AnswerProcess> AnswerProcess::start(const Work& work, const Limits& limits) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0)
    return tl::unexpected(Error{ErrorKind::internal, std::strerror(errno), kWhere, {}});
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    answer_into(ends[1], work, limits);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return tl::unexpected(Error{ErrorKind::internal, std::strerror(errno), kWhere, {}});
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return AnswerProcess(child, ends[0], limits);
}

AnswerProcess::AnswerProcess(AnswerProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      limits_(other.limits_),
      deadline_(other.deadline_),
      ended_(other.ended_),
      received_(std::move(other.received_)) {}

AnswerProcess::~AnswerProcess() {
  if (pipe_ >= 0) ::close(pipe_);
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool AnswerProcess::take() {
  std::array<char, 65536> some;
  for (;;) {
    const ssize_t count = ::read(pipe_, some.data(), some.size());
    if (count > 0) {
      received_.append(some.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    ended_ = count == 0 || errno != EAGAIN;
    return !ended_;
  }
}

Result<answer::Answered> AnswerProcess::finish() {
  std::int32_t code = 0;
  if (!ended_)
    return unsupported(fmt::format("takes longer than {} s", limits_.time.count() / 1000.0), kWhere,
                       "ask for less at once, or start with more --seconds");
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == ENOMEM)
    return unsupported(
        fmt::format("takes more than {} of memory", gib(static_cast<Bytes>(limits_.memory))),
        kWhere, "ask for less at once");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || received_.size() < sizeof code)
    return tl::unexpected(Error{ErrorKind::internal, "ended before it was answered", kWhere, {}});
  std::memcpy(&code, received_.data(), sizeof code);
  return answer::Answered{received_.substr(sizeof code), code};
}

Result<answer::Answered> AnswerProcess::wait() {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return finish();
    pollfd one{pipe_, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(left.count())) > 0 && !take()) return finish();
  }
}

}  // namespace memtape::service
