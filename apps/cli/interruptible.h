// SPDX-License-Identifier: Apache-2.0
// Interruptible: while it lives, ctrl-C ends a search and not the program, because the best so far is
// an answer. A second ctrl-C ends the program.
#pragma once

#include <csignal>

namespace memtape::cli {

class Interruptible {
 public:
  Interruptible() { before_ = std::signal(SIGINT, &Interruptible::stop); }
  ~Interruptible() { std::signal(SIGINT, before_); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static bool is_stopped() { return interrupted_ != 0; }

 private:
  static void stop(int) {
    interrupted_ = 1;
    std::signal(SIGINT, SIG_DFL);
  }
  static inline volatile std::sig_atomic_t interrupted_ = 0;
  void (*before_)(int) = nullptr;
};

}  // namespace memtape::cli
