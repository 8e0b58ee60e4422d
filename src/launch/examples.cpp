// SPDX-License-Identifier: Apache-2.0
// transformers' examples (5.17, examples/pytorch), with Trainer and without (run_*_no_trainer.py:
// argparse's own arguments in the place of TrainingArguments, mixed precision by accelerate's
// launcher, and an evaluation behind every epoch). What each decides itself: the head, how long
// sequences are, and the number of classes.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "launch/programs.h"
#include "launch/trainer_program.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// A setting in tokens, and the script's default, 0 for as many as the model takes.
struct Length {
  std::string_view name;
  std::int64_t otherwise = 0;
};
constexpr Length kSource{"max_source_length", 1024}, kTarget{"max_target_length", 128};

struct Example {
  std::string_view program, task;
  Length length, target = {};
  bool pads_to_length = true;  ///< --pad_to_max_length's default; else to the batch's longest
};

constexpr auto kExamples = std::to_array<Example>({
    {"run_glue.py", "sequence-classification", {"max_seq_length", 128}},
    {"run_classification.py", "sequence-classification", {"max_seq_length", 128}},
    {"run_xnli.py", "sequence-classification", {"max_seq_length", 128}},
    {"run_ner.py", "token-classification", {"max_seq_length"}, {}, false},
    {"run_qa.py", "question-answering", {"max_seq_length", 384}},
    {"run_swag.py", "multiple-choice", {"max_seq_length"}, {}, false},
    {"run_translation.py", "seq2seq-lm", kSource, kTarget, false},
    {"run_summarization.py", "seq2seq-lm", kSource, kTarget, false},
    {"run_seq2seq_qa.py", "seq2seq-lm", {"max_seq_length", 384}, {"max_answer_length", 30}},
    {"run_clm_no_trainer.py", "causal-lm", {"block_size"}},
    {"run_mlm_no_trainer.py", "masked-lm", {"max_seq_length"}},
    {"run_glue_no_trainer.py", "sequence-classification", {"max_length", 128}, {}, false},
    {"run_ner_no_trainer.py", "token-classification", {"max_length", 128}, {}, false},
    {"run_qa_no_trainer.py", "question-answering", {"max_seq_length", 384}, {}, false},
    {"run_swag_no_trainer.py", "multiple-choice", {"max_seq_length", 128}, {}, false},
    {"run_summarization_no_trainer.py", "seq2seq-lm", kSource, kTarget, false},
    {"run_translation_no_trainer.py", "seq2seq-lm", kSource, kTarget, false},
});

void add_classes(const Example& example, Reading& reading) {
  if (example.task != "sequence-classification" && example.task != "token-classification") return;
  Settings& settings = reading.settings;
  const std::optional<std::string> task = settings.text("task_name");
  const bool is_glue = example.program.starts_with("run_glue");
  if ((is_glue && task == "stsb") || settings.on("do_regression"))
    return settings.fail(unsupported("regression is not modelled", std::string(example.program),
                                     "a task of classes"));
  const std::string name = is_glue && task ? *task : settings.text("dataset_name").value_or("");
  const std::string_view classes =
      example.program == "run_xnli.py" ? "3" : meaning_of(name, data::data_set_classes());
  if (!classes.empty()) return reading.translation.add("num-labels", classes);
  reading.warn(fmt::format(
      "{}: the data set's classes are not known; the configuration's number, else 2, is taken "
      "(--num-labels)",
      example.program));
}

void add_length(const Length& length, const char* option, Reading& reading) {
  if (length.name.empty()) return;
  const std::int64_t tokens = reading.settings.whole(length.name).value_or(length.otherwise);
  if (tokens > 0) reading.translation.add(option, tokens);
}

void add_example(const Example& example, Reading& reading) {
  reading.translation.add("task", example.task);
  add_classes(example, reading);
  add_length(example.length, "sequence-length", reading);
  add_length(example.target, "target-length", reading);
  if (reading.settings.on("pad_to_max_length", example.pads_to_length)) return;
  reading.warn(fmt::format(
      "{}: sequences are padded to the longest of their batch; all are taken to be {} long",
      example.program,
      example.target.name.empty()
          ? std::string(example.length.name)
          : fmt::format("{}, and targets {}", example.length.name, example.target.name)));
}

const Example& example_of(const Reading& reading) {
  return *std::ranges::find(kExamples, reading.command.program, &Example::program);
}

void say_example(Reading& reading) {
  take_script_model(reading);
  add_training_arguments(reading.settings, nullptr, reading);
  add_example(example_of(reading), reading);
}

/// The tokenizer's model_max_length, cut to 1,024 where the model has fewer positions than that.
void take_block_size(std::string_view setting, Reading& reading) {
  reading.translation.add("sequence-length", "1024");
  reading.warn(fmt::format(
      "{}: without --{} the tokenizer's length decides; blocks of 1024 tokens are taken",
      reading.command.program, setting));
}

void say_no_trainer(Reading& reading) {
  const Example& example = example_of(reading);
  reading.translation.add("trainer", "none");
  take_script_model(reading);
  reading.add_options();
  reading.translation.add("eval_strategy", "epoch");
  add_example(example, reading);
  if ((example.task == "causal-lm" || example.task == "masked-lm") &&
      !reading.settings.says(example.length.name))
    take_block_size(example.length.name, reading);
  if (reading.settings.on("with_tracking"))
    reading.warn(
        fmt::format("{}: the sum of losses of --with_tracking, a block of 512 bytes, is left out",
                    example.program));
}

void say_run_clm(Reading& reading) {
  take_script_model(reading);
  add_training_arguments(reading.settings, nullptr, reading);
  reading.add_options();
  if (!reading.settings.find("block_size")) take_block_size("block_size", reading);
}

}  // namespace

const SettingsProgram kExample{.table = data::examples_settings,
                               .style = kScriptStyle,
                               .say = say_example,
                               .fields = training_fields};
const SettingsProgram kNoTrainerExample{
    .table = data::no_trainer_settings, .style = kScriptStyle, .say = say_no_trainer};
const SettingsProgram kRunClm{.table = data::run_clm_settings,
                              .style = kScriptStyle,
                              .say = say_run_clm,
                              .fields = training_fields};

}  // namespace memtape::launch
