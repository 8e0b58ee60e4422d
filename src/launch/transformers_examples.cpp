// SPDX-License-Identifier: Apache-2.0
#include "launch/transformers_examples.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

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

constexpr auto kExamplesModelled = std::to_array<std::string_view>(
    {"model_name_or_path", "config_name", "dtype", "torch_dtype", "max_seq_length",
     "max_source_length", "max_target_length", "max_answer_length", "pad_to_max_length",
     "task_name", "dataset_name", "do_regression"});
constexpr auto kExamplesNeutral = std::to_array<std::string_view>(
    {"tokenizer_name", "cache_dir", "use_fast_tokenizer", "model_revision", "token",
     "use_auth_token", "trust_remote_code", "ignore_mismatched_sizes", "dataset_config_name",
     "dataset_config", "train_file", "validation_file", "test_file", "overwrite_cache",
     "overwrite_output_dir", "overwrite_output", "preprocessing_num_workers", "max_train_samples",
     "max_eval_samples", "max_predict_samples",
     // run_classification.py, run_xnli.py
     "text_column_names", "text_column_name", "text_column_delimiter", "label_column_name",
     "train_split_name", "validation_split_name", "test_split_name", "remove_splits",
     "remove_columns", "metric_name", "shuffle_train_dataset", "shuffle_seed", "language",
     "train_language", "do_lower_case",
     // run_ner.py
     "label_all_tokens", "return_entity_level_metrics",
     // run_qa.py, run_seq2seq_qa.py
     "version_2_with_negative", "null_score_diff_threshold", "doc_stride", "n_best_size",
     "context_column", "question_column", "answer_column",
     // run_translation.py, run_summarization.py and Seq2SeqTrainingArguments
     "source_lang", "target_lang", "lang", "text_column", "summary_column", "source_prefix",
     "forced_bos_token", "val_max_target_length", "val_max_answer_length", "num_beams",
     "ignore_pad_token_for_loss", "resize_position_embeddings", "predict_with_generate",
     "generation_max_length", "generation_num_beams", "generation_config", "sortish_sampler"});
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
    translation.options.emplace_back("num-labels", fmt::format("{}", *count));
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
  if (tokens > 0) translation.options.emplace_back(option, fmt::format("{}", tokens));
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
  translation.options.emplace_back("task", example.task);
  if (const auto done = add_classes(example, settings, translation); !done) return done;
  add_lengths(example, settings, translation);
  return {};
}

Result<Translation> translate_example(const LaunchCommand& command) {
  const auto example = std::ranges::find(kExamples, command.program, &Example::program);
  std::vector<std::string_view> own(kExamplesModelled.begin(), kExamplesModelled.end());
  own.insert(own.end(), kExamplesNeutral.begin(), kExamplesNeutral.end());
  Result<Settings> settings = read_script(command, with_fields(own));
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  std::vector<std::string_view> neutral = with_fields(kExamplesNeutral);
  translation->remarks.add(settings->check_names({kExamplesModelled, {}, neutral}));
  if (const auto done = take_model(command, *settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_training_arguments(*settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_example(*example, *settings, *translation); !done)
    return tl::unexpected(done.error());
  return finished(*settings, std::move(*translation));
}

}  // namespace memtape::launch
