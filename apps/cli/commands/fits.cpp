// SPDX-License-Identifier: Apache-2.0
// `memtape fits`: which models of the catalog a machine can chat with or train.
#include "answer/fits.h"

#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "commands.h"
#include "outside_process.h"
#include "progress_line.h"

namespace memtape::cli {

int run_fits(const FitsOptions& options, Terminal& terminal) {
  const Result<answer::FitsAnswer> answer = [&] {
    ProgressLine line(terminal, true, std::chrono::milliseconds(200));
    std::mutex one_at_a_time;
    return answer::fits(options, outside_process(), [&](std::size_t done, std::size_t all) {
      const std::scoped_lock lock(one_at_a_time);
      line.show([&] { return fmt::format("{} of {} models", done, all); });
    });
  }();
  if (!answer) return terminal.fail(answer.error());
  if (options.output.json)
    terminal.print(answer::json(*answer));
  else
    terminal.print(options.output.quiet ? answer::quiet_text(*answer)
                                        : answer::text(*answer, terminal.width()));
  return answer->models.empty() ? ExitCode::does_not_fit : ExitCode::fits;
}

}  // namespace memtape::cli
