// SPDX-License-Identifier: Apache-2.0
// ProgressLine: what a command is at, on one line of the terminal that is written over now and then
// and is gone when the command is done. Nothing where nobody looks at the error stream.
// WaitingLine: the same for a command that cannot tell how far it is: it says for how long it runs.
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

  /// Not before a second has passed, and then once in each `pause`.
  ProgressLine(Terminal& terminal, bool wanted, Clock::duration pause);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Asks for the text only when it is time to show it; "" leaves the line as it is.
  void show(const std::function<std::string()>& text);
  void clear();

 private:
  Terminal& terminal_;
  const bool wanted_;
  const Clock::duration pause_;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

class WaitingLine {
 public:
  /// `what` is at work for as long as this lives: "predicting".
  WaitingLine(Terminal& terminal, bool wanted, std::string what);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  ProgressLine line_;
  std::jthread ticker_;  ///< there where somebody looks at the line
};

}  // namespace memtape::cli
