// SPDX-License-Identifier: Apache-2.0
// AnswerProcess: one answer that is computed in a child process, so that a service stays small and
// responsive whatever is asked: time and memory are limited, and anything that is left behind goes
// with the child.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

#include "answer/answer.h"

namespace memtape::service {

struct Limits {
  std::chrono::milliseconds time{30'000};
  std::uint64_t memory = std::uint64_t{4} << 30;  ///< the address space of the child, in bytes
};

class AnswerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  using Work = std::function<answer::Answered()>;

  static Result<AnswerProcess> start(const Work& work, const Limits& limits);

  AnswerProcess(AnswerProcess&& other) noexcept;
  AnswerProcess& operator=(AnswerProcess&&) = delete;
  AnswerProcess(const AnswerProcess&) = delete;
  AnswerProcess& operator=(const AnswerProcess&) = delete;
  ~AnswerProcess();

  /// It is readable when there is more of the answer, or its end.
  int descriptor() const { return pipe_; }
  Clock::time_point deadline() const { return deadline_; }

  /// Takes the bytes that have arrived. It returns false at the end of the answer.
  bool take();

  /// Called at the end, or to stop earlier. It returns what has arrived, or an error that says why
  /// there is nothing.
  Result<answer::Answered> finish();

  /// Waits for the end or for the deadline.
  Result<answer::Answered> wait();

 private:
  AnswerProcess(pid_t child, int pipe, const Limits& limits)
      : child_(child), pipe_(pipe), limits_(limits), deadline_(Clock::now() + limits.time) {}

  pid_t child_ = -1;
  int pipe_ = -1;
  Limits limits_;
  Clock::time_point deadline_;
  bool ended_ = false;
  std::string received_;
};

}  // namespace memtape::service
