// SPDX-License-Identifier: Apache-2.0
// `memtape fits`: which models of the catalog a machine can chat with or train.
#include "answer/fits.h"

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "interruptible.h"
#include "outside_process.h"
#include "progress_line.h"

namespace memtape::cli {
namespace {

/// How far the search is, and which model holds it up. Several threads tell.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  void starts(std::size_t models) {
    const std::scoped_lock lock(mutex_);
    all_ = models;
  }
  void begins(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    asked_.push_back({id, Clock::now()});
  }
  void ends(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(asked_, [&](const auto& one) { return one.first == id; });
    ++done_;
  }

  std::string text() const {
    const std::scoped_lock lock(mutex_);
    std::string slow;
    if (!asked_.empty() && Clock::now() - asked_.front().second > kSlow)
      slow = fmt::format(", now {} whose step is long", asked_.front().first);
    return fmt::format("{} of {} models{}; ctrl-C shows those so far", done_, all_, slow);
  }

 private:
  static constexpr std::chrono::milliseconds kSlow{500};

  mutable std::mutex mutex_;
  std::size_t done_ = 0, all_ = 0;
  std::vector<std::pair<std::string_view, Clock::time_point>> asked_;  // the longest first
};

int run_fits(const Words& words, Terminal& terminal) {
  const Result<answer::FitsAnswer> answer = [&] {
    const Interruptible interruptible;
    Progress progress;
    const WaitingLine line(terminal, true, [&](std::chrono::seconds) { return progress.text(); });
    return answer::models_that_fit(answer::asked_of(words), outside_process(),
                                   {.starts = [&](std::size_t models) { progress.starts(models); },
                                    .begins = [&](std::string_view id) { progress.begins(id); },
                                    .ends = [&](std::string_view id) { progress.ends(id); },
                                    .stopped = Interruptible::is_stopped});
  }();
  if (!answer) return terminal.fail(answer.error());
  const OutputOptions output = output_of(words);
  if (output.json)
    terminal.print(answer::json(*answer));
  else
    terminal.print(output.quiet ? answer::quiet_text(*answer)
                                : answer::text(*answer, terminal.widths()));
  return answer->models.empty() ? ExitCode::does_not_fit : ExitCode::fits;
}

}  // namespace

const Command kFitsCommand{
    .name = "fits",
    .summary = "which models this machine can chat with or train",
    .explanation =
        "a model's GiB are the peak that memtape serve --engine llamacpp, or memtape "
        "train, answers for it; shown is the largest that the device has room for",
    .example = "memtape fits --gpu rtx-3060-12gb --host-memory 64GiB --size 7B..40B",
    .syntax = [](Arguments) -> Result<Syntax> { return answer::fits_syntax(); },
    .run = run_fits,
};

}  // namespace memtape::cli
