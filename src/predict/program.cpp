// SPDX-License-Identifier: Apache-2.0
#include "predict/program.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "family/registry.h"
#include "framework/ddp/distributed_data_parallel.h"
#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine.h"
#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/fsdp2/fully_shard.h"
#include "framework/litgpt/finetune.h"
#include "framework/megatron/pretrain.h"
#include "framework/megatron/transformers_model.h"
#include "framework/torch/built_parameters.h"
#include "framework/torch/strategy.h"
#include "framework/torch_cp/context_parallel.h"
#include "framework/torch_pp/pipeline.h"
#include "framework/torch_tp/parallelize.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/trainer.h"
#include "framework/transformers/evaluation_loop.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/trainer.h"
#include "model/type_of.h"
#include "predict/global_batch.h"
#include "workload/lora_config.h"
#include "workload/quantization_config.h"
#include "workload/train_options.h"

namespace memtape {
namespace {

using Run = Result<torch::TrainRun> (*)(const Config&, const TrainRecipe&,
                                        const ghost::DeviceTraits&, int rank);
using Classes = Result<std::vector<torch::RankClass>> (*)(const Config&, const TrainRecipe&);

/// A framework that trains on one GPU, or on many alike.
Result<std::vector<torch::RankClass>> all_alike(const Config&, const TrainRecipe& recipe) {
  return torch::all_alike(recipe.layout);
}

struct Dialect {
  Framework framework;
  Run run;
  Classes classes;
};

constexpr auto kDialects = std::to_array<Dialect>({
    {Framework::torch,
     [](const Config& c, const TrainRecipe& r, const ghost::DeviceTraits& d, int) {
       return torch::run_training(c, r, d);
     },
     all_alike},
    {Framework::transformers, transformers::run_trainer, transformers::rank_classes},
    {Framework::ddp,
     [](const Config& c, const TrainRecipe& r, const ghost::DeviceTraits& d, int) {
       return ddp::run_training(c, r, d);
     },
     all_alike},
    {Framework::fsdp1, fsdp1::run_training, fsdp1::rank_classes},
    {Framework::fsdp2, fsdp2::run_training, fsdp2::rank_classes},
    {Framework::deepspeed, deepspeed::run_training, deepspeed::rank_classes},
    {Framework::torch_tp, torch_tp::run_training, torch_tp::rank_classes},
    {Framework::torch_pp, torch_pp::run_training, torch_pp::rank_classes},
    {Framework::torch_cp, torch_cp::run_training, torch_cp::rank_classes},
    {Framework::litgpt,
     [](const Config& c, const TrainRecipe& r, const ghost::DeviceTraits& d, int) {
       return litgpt::run_training(c, r, d);
     },
     all_alike},
    {Framework::megatron_core, megatron::run_training, megatron::rank_classes},
    {Framework::torchtitan, torchtitan::run_training, torchtitan::rank_classes},
});

/// The frameworks that hand a model tokens and labels of one length, as decoders take them, and
/// those whose wrapping of other models has not been laid beside a run.
Result<void> check_task(const TrainRecipe& recipe) {
  const Framework f = recipe.framework;
  const bool is_text = recipe.task == Task::causal_lm || recipe.task == Task::masked_lm ||
                       recipe.task == Task::image_text_to_text;
  if ((f == Framework::torch_tp || f == Framework::torch_cp) && !is_text)
    return unsupported("only decoders and encoders of text are modelled by this framework",
                       "--task", "causal-lm or masked-lm");
  const bool is_seq2seq = recipe.task == Task::seq2seq_lm;
  const bool classifies = is_classification(recipe.task);
  const bool takes_any = f == Framework::torch || f == Framework::ddp || f == Framework::fsdp1 ||
                         f == Framework::fsdp2 || f == Framework::transformers;
  if (classifies && !takes_any && f != Framework::deepspeed)
    return unsupported(
        "classifiers are modelled on one GPU, by data parallel frameworks and Trainer",
        "--framework", "torch, ddp, fsdp1, fsdp2, deepspeed or transformers");
  if (recipe.target_length && !is_seq2seq)
    return bad_input("only encoder-decoders have labels of another length", "--target-length",
                     "leave it out, or --task seq2seq-lm");
  if (recipe.num_labels && !classifies)
    return bad_input("only classifiers have classes", "--num-labels",
                     "leave it out, or --task sequence-classification");
  if (recipe.compile && !is_text && !is_seq2seq)
    return unsupported("compiled steps are modelled for language models", "--compile",
                       "leave it out");
  if (!is_text && !is_seq2seq && !classifies && !takes_any)
    return unsupported("images and speech are modelled on one GPU, under DDP and FSDP",
                       "--framework", "torch, ddp, fsdp1 or fsdp2");
  return {};
}

Result<const Dialect*> find_dialect(const TrainRecipe& recipe) {
  if (const Result<void> fine = check_task(recipe); !fine) return tl::unexpected(fine.error());
  for (const Dialect& dialect : kDialects)
    if (dialect.framework == recipe.framework) return &dialect;
  std::vector<std::string_view> known;
  for (const Dialect& dialect : kDialects) known.push_back(name(dialect.framework));
  return unsupported(fmt::format("\"{}\" is not modelled yet", name(recipe.framework)),
                     "--framework", fmt::format("one of {}", fmt::join(known, ", ")));
}

/// Whether the framework has a length of its own where none is named.
bool says_length_itself(const TrainRecipe& recipe) {
  return recipe.trainer.is_of_trl() || recipe.framework == Framework::litgpt ||
         recipe.framework == Framework::torchtitan;
}

/// How many tokens of text a model has positions for, as far as its configuration says.
std::int64_t positions_of(const Config& config, const TrainRecipe& recipe) {
  if (recipe.task == Task::speech_seq2seq) return config.dimension("max_target_positions", 448);
  if (recipe.task == Task::zero_shot_image_classification)
    return config.object("text_config").dimension("max_position_embeddings", 77);
  const std::int64_t positions = config.integer(
      "max_position_embeddings", config.integer("n_positions", recipe.sequence_length));
  const family::FamilyFacts* const facts = family::facts_of(config);
  const bool counts_from_padding =
      facts && facts->modeling.counts_from_padding == family::Known::yes;
  const std::int64_t unused = counts_from_padding ? config.integer("pad_token_id", 1) + 1 : 0;
  return positions > unused ? positions - unused : recipe.sequence_length;
}

}  // namespace

Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device, int rank) {
  const Result<const Dialect*> dialect = find_dialect(recipe);
  if (!dialect) return tl::unexpected(dialect.error());
  return (*dialect)->run(config, recipe, device, rank);
}

Result<std::vector<torch::RankClass>> reported_ranks(const Config& config,
                                                     const TrainRecipe& recipe) {
  const Result<const Dialect*> dialect = find_dialect(recipe);
  if (!dialect) return tl::unexpected(dialect.error());
  Result<std::vector<torch::RankClass>> classes = (*dialect)->classes(config, recipe);
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

namespace {

/// GenericForSequenceClassification.forward raises without a padding token (modeling_layers.py).
bool lacks_padding_token(const TrainRecipe& recipe, const Config& config) {
  return recipe.task == Task::sequence_classification && recipe.micro_batch_size > 1 &&
         torch::default_task(config) == Task::causal_lm && config.is_null("pad_token_id");
}

TrainRecipe by_model(TrainRecipe recipe, const Config& config) {
  if (!recipe.names_task) recipe.task = torch::default_task(config);
  if (lacks_padding_token(recipe, config))
    recipe.assumed.emplace_back(
        "the configuration names no pad_token_id, and unless its class has one, transformers "
        "refuses to classify batches of more than one sequence: set it, or --micro-batch-size 1");
  if (recipe.framework == Framework::megatron_core)
    return megatron::resolved(std::move(recipe), config);
  if (!recipe.names_sequence_length && !says_length_itself(recipe))
    recipe.sequence_length = std::min(recipe.sequence_length, positions_of(config, recipe));
  if (recipe.framework == Framework::litgpt) return litgpt::resolved(std::move(recipe));
  if (recipe.lora && recipe.lora->targets == std::vector{std::string(kDefaultLoraTargets)})
    if (auto known = default_lora_targets(type_of(config)); !known.empty())
      recipe.lora->targets = std::move(known);
  if (recipe.framework == Framework::torchtitan) return torchtitan::resolved(std::move(recipe));
  if (recipe.framework == Framework::ddp) return ddp::resolved(std::move(recipe));
  if (recipe.framework == Framework::deepspeed) return deepspeed::resolved(std::move(recipe));
  if (recipe.framework == Framework::torch_pp && !recipe.global_batch_size)
    return torch_pp::resolved(std::move(recipe));
  if (recipe.framework != Framework::transformers) return recipe;
  // What bitsandbytes packed before says so itself; where that cannot be read, Trainer's run says.
  if (const Config packed = config.object("quantization_config");
      !recipe.quantization && packed.text("quant_method", "") == "bitsandbytes")
    (void)set_quantization_config({"quantization", packed.json()}, recipe);
  if (auto why = transformers::evaluation_left_out(recipe)) {
    recipe.assumed.push_back(std::move(*why));
    recipe.trainer.evaluation.runs = false;
    recipe.trainer.evaluation.left_out = true;
  }
  if (recipe.weights) return recipe;
  const std::string stored = config.text("dtype", config.text("torch_dtype", "float32"));
  recipe.weights = stored == "bfloat16"  ? DType::bfloat16
                   : stored == "float16" ? DType::float16
                                         : DType::float32;
  return recipe;
}

}  // namespace

Result<TrainRecipe> resolved(TrainRecipe recipe, const Config& config) {
  return with_global_batch(by_model(std::move(recipe), config), config);
}

}  // namespace memtape
