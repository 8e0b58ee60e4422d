// SPDX-License-Identifier: Apache-2.0
// `memtape train MODEL`: resolve the model, read the options, predict, report.
#include <chrono>

#include "answer/train_answer.h"
#include "commands.h"
#include "outside_process.h"
#include "progress_line.h"
#include "report/csv.h"
#include "report/explain.h"
#include "report/html.h"
#include "report/snapshot.h"
#include "report/text.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

Result<void> write_page_and_snapshot(const RawOptions& options, const TrainAnswer& answer) {
  if (!options.html.empty())
    if (const auto done =
            sources::write_output(options.html, report::html(answer.prediction, *answer.trace));
        !done)
      return done;
  if (!options.snapshot.empty())
    return sources::write_output(options.snapshot, report::snapshot(*answer.trace));
  return {};
}

void print_training(const RawOptions& options, const answer::OneTraining& all, Terminal& terminal) {
  const TrainAnswer& answer = all.train;
  const report::Style style = terminal.style();
  if (options.csv) return terminal.print(report::csv(*answer.trace));
  if (options.output.quiet) return terminal.print(report::quiet_text(answer.prediction));
  terminal.print(report::text(answer.prediction, answer.trace ? &*answer.trace : nullptr,
                              {.width = terminal.width(), .style = style}));
  if (!all.rules.empty())
    terminal.print("\n" + report::rules_of_thumb(all.rules, terminal.width(), style));
  if (options.output.explain)
    terminal.print("\n" + report::explain(answer.prediction, *answer.trace,
                                          {.width = terminal.width(), .style = style}));
}

template <class Many>
void print_training(const RawOptions& options, const Many& many, Terminal& terminal) {
  terminal.print(options.output.quiet ? quiet_text(many) : text(many, terminal.widths()));
}

}  // namespace

int show_training(const RawOptions& options, Terminal& terminal) {
  const bool draws = terminal.draws() && !options.output.json && !options.output.quiet;
  const bool wants_trace = draws || options.csv || options.output.explain ||
                           !options.html.empty() || !options.snapshot.empty();
  const Result<answer::Training> training = [&] {
    const OutsideOfPrediction outside;
    const WaitingLine line(terminal, !options.output.quiet,
                           [&](std::chrono::seconds passed) { return outside.progress(passed); });
    return answer::answer_train(options, wants_trace, outside);
  }();
  if (!training) return terminal.fail(training.error());
  if (const auto* one = std::get_if<answer::OneTraining>(&*training))
    if (const Result<void> written = write_page_and_snapshot(options, one->train); !written)
      return terminal.fail(written.error());
  if (options.output.json)
    terminal.print(answer::json(*training));
  else
    std::visit([&](const auto& told) { print_training(options, told, terminal); }, *training);
  return answer::exit_code(*training, options.output.strict);
}

const Command kTrainCommand{
    .name = "train",
    .usage = "MODEL",
    .summary = "one training step, per GPU",
    .example = "memtape train meta-llama/Llama-3.1-8B --gpu h100-80gb",
    .first =
        "gpu gpus framework micro-batch-size sequence-length precision optimizer "
        "gradient-checkpointing quantize lora-rank zero tp solve html json",
    .syntax = [](Arguments) -> Result<Syntax> { return answer::train_syntax(); },
    .run = [](const Words& words,
              Terminal& terminal) { return show_training(answer::asked_of(words), terminal); },
};

}  // namespace memtape::cli
