// SPDX-License-Identifier: Apache-2.0
#include "progress_line.h"

namespace memtape::cli {

ProgressLine::ProgressLine(Terminal& terminal, bool wanted, Clock::duration pause)
    : terminal_(terminal), wanted_(wanted && terminal.shows_progress()), pause_(pause) {}

void ProgressLine::show(const std::function<std::string()>& text) {
  const Clock::time_point now = Clock::now();
  if (!wanted_ || now < next_) return;
  next_ = now + pause_;
  const std::string line = text();
  if (line.empty()) return;
  shown_ = true;
  terminal_.progress(line);
}

void ProgressLine::clear() {
  if (shown_) terminal_.progress("");
  shown_ = false;
}

}  // namespace memtape::cli
