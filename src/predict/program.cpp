// SPDX-License-Identifier: Apache-2.0
#include "predict/program.h"

#include <algorithm>

#include <fmt/format.h>

#include "family/named_head.h"
#include "family/registry.h"
#include "framework/dialects.h"
#include "framework/torch/built_parameters.h"
#include "model/stored_dtype.h"
#include "predict/global_batch.h"

namespace memtape {
namespace {

bool takes(const Dialect& dialect, Task task) {
  return std::ranges::find(dialect.tasks, task) != dialect.tasks.end();
}

std::string names_that_take_classes() {
  return names_of_dialects(
      [](const Dialect& dialect) { return takes(dialect, Task::sequence_classification); });
}

std::string names_that_take_images() {
  return names_of_dialects(
      [](const Dialect& dialect) { return takes(dialect, Task::image_classification); });
}

/// The frameworks that hand a model tokens and labels of one length, as decoders take them, and
/// those whose wrapping of other models has not been laid beside a run.
Result<void> check_program(const TrainRecipe& recipe, const Dialect& dialect) {
  const bool is_taken = takes(dialect, recipe.task);
  const bool is_seq2seq = recipe.task == Task::seq2seq_lm;
  const bool classifies = is_classification(recipe.task);
  if (!is_taken && !takes(dialect, Task::seq2seq_lm))
    return unsupported("only decoders and encoders of text are modelled by this framework",
                       "--task", "causal-lm or masked-lm");
  if (!is_taken && classifies)
    return unsupported(
        "classifiers are modelled on one GPU, by data parallel frameworks and Trainer",
        "--framework", names_that_take_classes());
  if (recipe.target_length && !is_seq2seq)
    return bad_input("only encoder-decoders have labels of another length", "--target-length",
                     "leave it out, or --task seq2seq-lm");
  if (recipe.num_labels && !classifies)
    return bad_input("only classifiers have classes", "--num-labels",
                     "leave it out, or --task sequence-classification");
  const bool is_text = recipe.task == Task::causal_lm || recipe.task == Task::masked_lm ||
                       recipe.task == Task::image_text_to_text;
  if (recipe.compile && !is_text && !is_seq2seq)
    return unsupported("compiled steps are modelled for language models", "--compile",
                       "leave it out");
  if (!is_taken)
    return unsupported("images and speech are modelled on one GPU, under DDP and FSDP",
                       "--framework", names_that_take_images());
  return {};
}

/// GenericForSequenceClassification.forward raises without a padding token (modeling_layers.py).
bool lacks_padding_token(const TrainRecipe& recipe, const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return recipe.task == Task::sequence_classification && recipe.micro_batch_size > 1 && facts &&
         facts->task == Task::causal_lm && config.is_null("pad_token_id");
}

/// The head is the one that config.json names, but for programs whose own class makes the model.
void take_task(TrainRecipe& recipe, const Config& config) {
  const auto head = family::named_head(config);
  if (head && recipe.is_of_trl()) {
    recipe.task = family::facts_of(config)->task;
    return;
  }
  recipe.task = torch::default_task(config);
  if (head && head->has_none)
    recipe.not_modelled.push_back(fmt::format(
        "config.json names {}, which has no head: answered with a classifier of sequences, which "
        "adds a row or two; how an embedder is trained (pairs of texts, losses over a batch) is "
        "not modelled; --task says another head",
        head->architecture));
}

}  // namespace

Result<TrainRecipe> resolved(TrainRecipe recipe, const Config& config) {
  if (const Result<DType> stored = stored_dtype(config); !stored)
    return tl::unexpected(stored.error());
  if (!recipe.names_task) take_task(recipe, config);
  if (lacks_padding_token(recipe, config))
    recipe.assumed.emplace_back(
        "the configuration names no pad_token_id, and unless its class has one, transformers "
        "refuses to classify batches of more than one sequence: set it, or --micro-batch-size 1");
  return with_global_batch(dialect_of(recipe).settle(std::move(recipe), config), config);
}

Result<TrainPlanPointer> plan_of(const Config& config, const TrainRecipe& recipe) {
  const Dialect& dialect = dialect_of(recipe);
  if (const Result<void> fine = check_program(recipe, dialect); !fine)
    return tl::unexpected(fine.error());
  return dialect.plan(config, recipe);
}

Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank) {
  return dialect_of(plan.common).run(plan, config, device, rank);
}

Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device, int rank) {
  const Result<TrainPlanPointer> plan = plan_of(config, recipe);
  if (!plan) return tl::unexpected(plan.error());
  return run_plan(**plan, config, device, rank);
}

Result<std::vector<torch::RankClass>> reported_ranks(const TrainPlan& plan, const Config& config) {
  const TrainRecipe& recipe = plan.common;
  Result<std::vector<torch::RankClass>> classes = dialect_of(recipe).ranks(plan, config);
  if (!classes || !recipe.layout.rank) return classes;
  const int wanted = static_cast<int>(*recipe.layout.rank);
  std::erase_if(*classes, [wanted](const torch::RankClass& c) {
    return std::find(c.ranks.begin(), c.ranks.end(), wanted) == c.ranks.end();
  });
  return classes;
}

std::vector<Setting> mesh_settings(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  std::vector<Setting> settings{{"gpus", fmt::format("{}", layout.gpus)}};
  const auto add = [&](const char* name, const std::optional<std::int64_t>& size) {
    if (size) settings.push_back({name, fmt::format("{}", *size)});
  };
  add("dp", layout.dp);
  add("zero", layout.zero);
  add("tp", layout.tp);
  add("sp", layout.sp);
  add("pp", layout.pp);
  add("vpp", layout.vpp);
  add("cp", layout.cp);
  add("ep", layout.ep);
  add("etp", layout.etp);
  return settings;
}

}  // namespace memtape
