// SPDX-License-Identifier: Apache-2.0
// ProgressLine: what a command is doing, on one line of the terminal, which is overwritten now and
// then and removed when the command is done. It shows nothing if nobody watches the error stream.
// WaitingLine shows its text by itself, however long one piece of the work takes: how far the
// command is, or how long it has run.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "terminal.h"

namespace memtape::cli {

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// It shows nothing at first, as quick commands want it, and then one text in each `pause`.
  ProgressLine(Terminal& terminal, bool wanted, Clock::duration pause);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Calls `text` only when it is time to show it. "" leaves the line as it is.
  void show(const std::function<std::string()>& text);
  void clear();

 private:
  Terminal& terminal_;
  const bool wanted_;
  const Clock::duration pause_;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(600);
};

class WaitingLine {
 public:
  /// `what` is what the command does for as long as this lives, such as "predicting".
  WaitingLine(Terminal& terminal, bool wanted, std::string what);
  /// `text` is called on a thread of the line's own.
  WaitingLine(Terminal& terminal, bool wanted,
              std::function<std::string(std::chrono::seconds passed)> text);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  ProgressLine line_;
  std::jthread ticker_;  ///< set if somebody watches the line
};

}  // namespace memtape::cli
