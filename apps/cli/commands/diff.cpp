// SPDX-License-Identifier: Apache-2.0
// `memtape diff TAPE MODEL [train options]`: the predicted step beside a recorded one, up to the
// first event that differs.
#include <array>

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

Result<report::TapeDiff> compare(const std::string& tape, const RawOptions& training) {
  const Result<std::string> text = sources::read_text_file(tape, kLargestTape);
  if (!text) return tl::unexpected(text.error());
  const auto recorded = parse_step_tape(*text, tape);
  if (!recorded) return tl::unexpected(recorded.error());
  const Result<answer::TrainRequest> request = answer::train_request(training, outside_process());
  if (!request) return tl::unexpected(request.error());
  const auto source = outside_process().model(training.model);
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

int run_diff(const Words& words, Terminal& terminal) {
  const Result<report::TapeDiff> diff = compare(words.operand(), answer::asked_of(words, 1));
  if (!diff) return terminal.fail(diff.error());
  if (!output_of(words).quiet) terminal.print(report::text(*diff, 4));
  return diff->same() ? ExitCode::fits : ExitCode::does_not_fit;
}

constexpr std::array kTapeAndModel{Operand{"TAPE", "a recorded step tape (.tape)"}, answer::kModel};

}  // namespace

const Command kDiffCommand{
    .name = "diff",
    .usage = "TAPE MODEL",
    .summary = "a predicted step beside a recorded one",
    .explanation =
        "the events of both steps are compared one by one, with their sizes, in the order "
        "in which they happen",
    .example = "memtape diff step.tape config.json --sequence-length 384",
    .first = "framework micro-batch-size sequence-length precision optimizer lora-rank gpus json",
    .operands = kTapeAndModel,
    .takes_train = true,
    .run = run_diff,
};

}  // namespace memtape::cli
