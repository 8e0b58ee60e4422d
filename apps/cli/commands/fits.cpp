// SPDX-License-Identifier: Apache-2.0
// `memtape fits`: which models of the catalog a machine can chat with or train.
#include "answer/fits.h"

#include <atomic>
#include <chrono>

#include <fmt/format.h>

#include "commands.h"
#include "interruptible.h"
#include "outside_process.h"
#include "progress_line.h"

namespace memtape::cli {
namespace {

int run_fits(const Words& words, Terminal& terminal) {
  const Result<answer::FitsAnswer> answer = [&] {
    const Interruptible interruptible;
    std::atomic<std::size_t> done = 0, all = 0;
    const WaitingLine line(terminal, true, [&](std::chrono::seconds) {
      return fmt::format("{} of {} models; ctrl-C shows those so far", done.load(), all.load());
    });
    return answer::models_that_fit(answer::asked_of(words), outside_process(),
                                   {.progress =
                                        [&](std::size_t models, std::size_t of) {
                                          done = models;
                                          all = of;
                                        },
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
