// SPDX-License-Identifier: Apache-2.0
#include "progress_line.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/format.h>

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

WaitingLine::WaitingLine(Terminal& terminal, bool wanted, std::string what)
    : WaitingLine(terminal, wanted, [what = std::move(what)](std::chrono::seconds passed) {
        return fmt::format("{} for {} s; ctrl-C ends it", what, passed.count());
      }) {}

WaitingLine::WaitingLine(Terminal& terminal, bool wanted,
                         std::function<std::string(std::chrono::seconds passed)> text)
    : line_(terminal, wanted, std::chrono::milliseconds(200)) {
  if (!wanted || !terminal.shows_progress()) return;
  ticker_ = std::jthread([this, text = std::move(text)](const std::stop_token& done) {
    const ProgressLine::Clock::time_point began = ProgressLine::Clock::now();
    std::mutex mutex;
    std::condition_variable_any ends;
    std::unique_lock lock(mutex);
    while (!ends.wait_for(lock, done, std::chrono::milliseconds(200), [] { return false; }) &&
           !done.stop_requested())
      line_.show([&] {
        const auto passed = ProgressLine::Clock::now() - began;
        return text(std::chrono::duration_cast<std::chrono::seconds>(passed));
      });
  });
}

}  // namespace memtape::cli
