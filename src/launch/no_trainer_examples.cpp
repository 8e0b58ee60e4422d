// SPDX-License-Identifier: Apache-2.0
// transformers' examples without Trainer (5.17, examples/pytorch, run_*_no_trainer.py): argparse's
// own arguments instead of TrainingArguments, mixed precision by accelerate's launcher, and an
// evaluation behind every epoch.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "launch/setting_names.h"
#include "launch/setting_rows.h"
#include "launch/trainer_program.h"
#include "launch/trainer_script.h"
#include "launch/transformers_examples.h"

namespace memtape::launch {
namespace {

constexpr auto kLoops = std::to_array<Example>({
    {.program = "run_clm_no_trainer.py", .task = "causal-lm", .length = {"block_size"}},
    {.program = "run_mlm_no_trainer.py", .task = "masked-lm", .length = {"max_seq_length"}},
    {"run_glue_no_trainer.py", "sequence-classification", {"max_length", 128}, {}, false},
    {"run_ner_no_trainer.py", "token-classification", {"max_length", 128}, {}, false},
    {"run_qa_no_trainer.py", "question-answering", {"max_seq_length", 384}, {}, false},
    {"run_swag_no_trainer.py", "multiple-choice", {"max_seq_length", 128}, {}, false},
    {"run_summarization_no_trainer.py",
     "seq2seq-lm",
     {"max_source_length", 1024},
     {"max_target_length", 128},
     false},
    {"run_translation_no_trainer.py",
     "seq2seq-lm",
     {"max_source_length", 1024},
     {"max_target_length", 128},
     false},
});

void add_batches(Settings& settings, Translation& translation) {
  constexpr auto kTraining = std::to_array<SettingRow>(
      {{"per_device_train_batch_size", "per_device_train_batch_size", RowKind::whole, "8"},
       {"gradient_accumulation_steps", "gradient_accumulation_steps", RowKind::whole, "1"}});
  constexpr auto kEvaluation = std::to_array<SettingRow>(
      {{"per_device_eval_batch_size", "per_device_eval_batch_size", RowKind::whole, "8"}});
  add_options(kTraining, settings, translation);
  translation.add("eval_strategy", "epoch");
  add_options(kEvaluation, settings, translation);
}

/// Blocks are as long as the tokenizer's model_max_length, cut to 1,024 where that is more than the
/// model has positions for.
void add_block_size(const Example& loop, const Settings& settings, Translation& translation) {
  const bool is_of_blocks = loop.task == "causal-lm" || loop.task == "masked-lm";
  if (!is_of_blocks || settings.says(loop.length.name)) return;
  translation.add("sequence-length", "1024");
  translation.remarks.warnings.push_back(fmt::format(
      "{}: without --{} the tokenizer's length decides; blocks of 1024 tokens are taken",
      loop.program, loop.length.name));
}

}  // namespace

Result<Translation> translate_no_trainer_example(const LaunchCommand& command) {
  const auto loop = std::ranges::find(kLoops, command.program, &Example::program);
  Result<Settings> settings = read_script(command, data::no_trainer_names().all());
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  translation->remarks.add(settings->check_names(data::no_trainer_names()));
  translation->add("trainer", "none");
  if (const auto done = take_model(command, *settings, *translation); !done)
    return tl::unexpected(done.error());
  add_batches(*settings, *translation);
  if (const auto done = add_example(*loop, *settings, *translation); !done)
    return tl::unexpected(done.error());
  add_block_size(*loop, *settings, *translation);
  if (settings->on("with_tracking"))
    translation->remarks.warnings.push_back(
        fmt::format("{}: the sum of losses of --with_tracking, a block of 512 bytes, is left out",
                    command.program));
  return finished(*settings, std::move(*translation));
}

}  // namespace memtape::launch
