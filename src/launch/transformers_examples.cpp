// SPDX-License-Identifier: Apache-2.0
#include "launch/transformers_examples.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "launch/setting_names.h"
#include "launch/trainer_program.h"
#include "launch/trainer_script.h"

namespace memtape::launch {
namespace {

/// Those that train classifiers and encoder-decoders with Trainer.
constexpr auto kExamples = std::to_array<Example>({
    {"run_glue.py", "sequence-classification", {"max_seq_length", 128}},
    {"run_classification.py", "sequence-classification", {"max_seq_length", 128}},
    {"run_xnli.py", "sequence-classification", {"max_seq_length", 128}},
    {.program = "run_ner.py",
     .task = "token-classification",
     .length = {"max_seq_length"},
     .pads_to_length = false},
    {"run_qa.py", "question-answering", {"max_seq_length", 384}},
    {.program = "run_swag.py",
     .task = "multiple-choice",
     .length = {"max_seq_length"},
     .pads_to_length = false},
    {"run_translation.py",
     "seq2seq-lm",
     {"max_source_length", 1024},
     {"max_target_length", 128},
     false},
    {"run_summarization.py",
     "seq2seq-lm",
     {"max_source_length", 1024},
     {"max_target_length", 128},
     false},
    {"run_seq2seq_qa.py", "seq2seq-lm", {"max_seq_length", 384}, {"max_answer_length", 30}},
});

/// Classes of data sets that are named often; GLUE's by task.
struct Classes {
  std::string_view name;
  std::int64_t count;
};
constexpr auto kClasses = std::to_array<Classes>({
    {"cola", 2},
    {"mnli", 3},
    {"mrpc", 2},
    {"qnli", 2},
    {"qqp", 2},
    {"rte", 2},
    {"sst2", 2},
    {"wnli", 2},
    {"imdb", 2},
    {"stanfordnlp/imdb", 2},
    {"ag_news", 4},
    {"conll2003", 9},
});

std::optional<std::int64_t> classes_of(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &Classes::name);
  return found == kClasses.end() ? std::nullopt : std::optional(found->count);
}

Result<void> add_classes(const Example& example, Settings& settings, Translation& translation) {
  if (example.task != "sequence-classification" && example.task != "token-classification")
    return {};
  const std::optional<std::string> task = settings.text("task_name");
  const bool is_glue = example.program.starts_with("run_glue");
  if ((is_glue && task == "stsb") || settings.on("do_regression"))
    return unsupported("regression is not modelled", std::string(example.program),
                       "a task of classes");
  const std::string name = is_glue && task ? *task : settings.text("dataset_name").value_or("");
  std::optional<std::int64_t> count = classes_of(name);
  if (example.program == "run_xnli.py") count = 3;
  if (count)
    translation.add("num-labels", *count);
  else
    translation.remarks.warnings.push_back(fmt::format(
        "{}: the data set's classes are not known; the configuration's number, else 2, is taken "
        "(--num-labels)",
        example.program));
  return {};
}

void add_length(const ExampleLength& length, const char* option, Settings& settings,
                Translation& translation) {
  if (length.name.empty()) return;
  const std::int64_t tokens = settings.whole(length.name).value_or(length.otherwise);
  if (tokens > 0) translation.add(option, tokens);
}

void add_lengths(const Example& example, Settings& settings, Translation& translation) {
  add_length(example.length, "sequence-length", settings, translation);
  add_length(example.target, "target-length", settings, translation);
  if (settings.on("pad_to_max_length", example.pads_to_length)) return;
  translation.remarks.warnings.push_back(fmt::format(
      "{}: sequences are padded to the longest of their batch; all are taken to be {} long",
      example.program,
      example.target.name.empty()
          ? std::string(example.length.name)
          : fmt::format("{}, and targets {}", example.length.name, example.target.name)));
}

}  // namespace

Result<void> add_example(const Example& example, Settings& settings, Translation& translation) {
  translation.add("task", example.task);
  if (const auto done = add_classes(example, settings, translation); !done) return done;
  add_lengths(example, settings, translation);
  return {};
}

Result<Translation> translate_example(const LaunchCommand& command) {
  const auto example = std::ranges::find(kExamples, command.program, &Example::program);
  const KnownNames known = data::examples_names();
  Result<Settings> settings = read_script(command, with_fields(known.all()));
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  const std::vector<std::string_view> neutral = with_fields(known.neutral);
  translation->remarks.add(settings->check_names({known.modelled, {}, neutral}));
  if (const auto done = take_model(command, *settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_training_arguments(*settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_example(*example, *settings, *translation); !done)
    return tl::unexpected(done.error());
  return finished(*settings, std::move(*translation));
}

}  // namespace memtape::launch
