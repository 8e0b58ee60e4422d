// SPDX-License-Identifier: Apache-2.0
// `memtape diff TAPE MODEL [train options]`: the predicted step beside a recorded one, up to the
// first event that differs.
#include "answer/train_request.h"
#include "commands.h"
#include "outside_process.h"
#include "predict/program.h"
#include "predict/step_play.h"
#include "report/tape_diff.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLargestTape = std::size_t{256} << 20;

Result<report::TapeDiff> compare(const DiffOptions& options) {
  const Result<std::string> text = sources::read_text_file(options.tape, kLargestTape);
  if (!text) return tl::unexpected(text.error());
  const auto recorded = parse_step_tape(*text, options.tape);
  if (!recorded) return tl::unexpected(recorded.error());
  const Result<answer::TrainRequest> request =
      answer::train_request(options.train, outside_process());
  if (!request) return tl::unexpected(request.error());
  const auto source = outside_process().model(options.train.model);
  if (!source) return tl::unexpected(source.error());
  if (!source->config) return unsupported("no config.json", source->where);
  const Result<TrainRecipe> settled = resolved(request->recipe, *source->config);
  if (!settled) return tl::unexpected(settled.error());
  const TrainRecipe& recipe = *settled;
  const auto run = run_program(*source->config, recipe, device_traits(request->device),
                               static_cast<int>(recipe.layout.rank.value_or(0)));
  if (!run) return tl::unexpected(run.error());
  return report::compare_tapes(run->tape, first_event_of_step(run->tape, torch::kSteps - 1),
                               *recorded);
}

}  // namespace

int run_diff(const DiffOptions& options, Terminal& terminal) {
  const Result<report::TapeDiff> diff = compare(options);
  if (!diff) return terminal.fail(diff.error());
  if (!options.train.output.quiet) terminal.print(report::text(*diff, 4));
  return diff->same() ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
