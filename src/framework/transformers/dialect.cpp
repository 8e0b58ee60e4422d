// SPDX-License-Identifier: Apache-2.0
// transformers' Trainer, trl's trainers, and programs around them.
#include "framework/torch/dialect.h"

#include <algorithm>

#include "framework/torch/dialect_parts.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/arguments/quantization_config.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "framework/transformers/axolotl/lora_kernels.h"
#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/evaluation_loop.h"
#include "framework/transformers/one_process.h"
#include "framework/transformers/packed_checkpoint.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/quantized_model.h"
#include "framework/transformers/trainer.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/settle.h"
#include "framework/transformers/unrecorded.h"
#include "model/stored_dtype.h"
#include "release/trainer_changes.h"

namespace memtape::transformers {
namespace {

constexpr std::array kAbsent{
    torch::kNoSchedule, AbsentOption{"strategy", "options of its own beside TrainingArguments",
                                     "--fsdp, --fsdp_config, --deepspeed or --ddp_bucket_cap_mb"}};

/// FSDP alone is given what from_pretrained made wherever that was.
Result<void> check_options(std::span<const NamedValue>, const TrainRecipe& recipe) {
  const std::string& offload = recipe.layout.offload;
  if (!offload.empty() && offload != "none")
    return has_none(*recipe.framework, "offloading of that name", "offload",
                    "--fsdp \"full_shard offload\", or --deepspeed with offload_optimizer");
  if (!recipe.init_device) return {};
  const bool takes_it = trainer_of(recipe).fsdp && recipe.layout.gpus > 1;
  if (takes_it && *recipe.init_device != InitDevice::meta) return {};
  return has_none(*recipe.framework, "such way to make its model", "init-device",
                  takes_it ? "cuda or cpu" : "leave it out, or --fsdp full_shard");
}

std::vector<Package> packages_of_program(const TrainRecipe& recipe) {
  std::vector<Package> packages = torch::packages_of_families(recipe);
  packages.push_back(Package::accelerate);
  if (recipe.is_of_trl()) packages.push_back(Package::trl);
  if (recipe.use_liger_kernel) packages.push_back(Package::liger_kernel);
  if (runs_deepspeed(recipe)) packages.push_back(Package::deepspeed);
  if (recipe.bitsandbytes_optim) packages.push_back(Package::bitsandbytes);
  return packages;
}

/// Users of Trainer load a checkpoint in the dtype it was stored in, unless --weights says another.
DType loaded_dtype(const Config& config) {
  const DType stored = stored_dtype(config).value_or(DType::float32);
  return stored == DType::bfloat16 || stored == DType::float16 ? stored : DType::float32;
}

/// LLaMA-Factory passes its quantization_bit over where the checkpoint is packed
/// (configure_quantization); other programs hand it to transformers, which refuses it.
void pass_over_bits_of_packed(const Config& config, TrainRecipe& recipe) {
  const std::string method = config.object("quantization_config").text("quant_method", "");
  const bool lists_layers = recipe.lora && recipe.lora->lists_linear;
  if (!recipe.quantization || !lists_layers || recipe.prepare_for_kbit_training.value_or(true) ||
      method.empty() || method == "bitsandbytes")
    return;
  recipe.quantization.reset();
  recipe.prepare_for_kbit_training.reset();
  recipe.assumed.emplace_back("the checkpoint is packed already: quantization_bit changes nothing");
}

/// axolotl's quantization of experts has them one by one, as it found.
void note_threads(const Config& config, TrainRecipe& recipe) {
  const bool is_packed = !config.object("quantization_config").keys().empty();
  recipe.loads_in_threads = recipe.quantization && !is_packed &&
                            !trainer_of(recipe).quantize_moe_experts &&
                            recipe.release.has(changes::kLoadsInThreads) &&
                            !recipe.release.has(changes::kQuantizesInOrder);
  if (recipe.loads_in_threads)
    recipe.assumed.emplace_back(
        "threads of transformers 5.0 to 5.3 may bring all weights in 16 bits before bitsandbytes "
        "has packed them (HF_DEACTIVATE_ASYNC_LOAD=1 loads one after the other)");
}

TrainRecipe settle(TrainRecipe recipe, const Config& config) {
  if (!recipe.is_of_trl())  // trl's trainers have a length of their own
    recipe = torch::with_length_of_model(std::move(recipe), config);
  recipe = torch::with_dtype_of_class(std::move(recipe), config);
  recipe = torch::with_attention_of_release(torch::with_targets_of_model(std::move(recipe), config),
                                            config);
  // What bitsandbytes packed before says so itself; where that cannot be read, Trainer's run says.
  if (const Config packed = config.object("quantization_config");
      !recipe.quantization && packed.text("quant_method", "") == "bitsandbytes")
    if (auto read = read_quantization_config(packed.json())) recipe.quantization = std::move(*read);
  pass_over_bits_of_packed(config, recipe);
  if (auto why = evaluation_left_out(recipe)) {
    recipe.assumed.push_back(std::move(*why));
    recipe.evaluation.runs = false;
    recipe.evaluation.left_out = true;
  }
  if (std::string why = axolotl::why_not_fused(config, recipe); !why.empty()) {
    recipe.not_modelled.push_back(std::move(why));
    trainer_of(recipe).lora_kernels = {};
  }
  note_unrecorded(recipe);
  note_threads(config, recipe);
  if (!recipe.weights) recipe.weights = loaded_dtype(config);
  settle_one_process(recipe);
  return recipe;
}

Result<TrainPlanPointer> make_plan(const Config& config, const TrainRecipe& recipe) {
  return plan_with(recipe, read_engines(config, recipe));
}

Result<std::vector<torch::RankClass>> ranks_of_plan(const TrainPlan& plan, const Config& config) {
  return rank_classes(config, plan.common, own_options<Engines>(plan));
}

Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank) {
  return run_trainer(config, plan.common, own_options<Engines>(plan), device, rank);
}

/// DeepSpeed's engine holds a model of the autocast's dtype beside its own float32 copy.
void read_time(const TrainRecipe& recipe, time::TrainSetup& setup) {
  if (trainer_of(recipe).fsdp) setup.zero = 3;
  if (!runs_deepspeed(recipe)) return;
  const SaidZero zero = said_zero(recipe);
  setup.zero = zero.stage;
  setup.gradient_bytes = engine_recipe(recipe).parameter_dtype() == DType::float32 ? 4 : 2;
  setup.optimizer_bytes = time::optimizer_bytes(recipe, true);
  if (zero.offloads_optimizer) setup.offload = time::OptimizerOffload::optimizer;
  if (zero.offloads_parameters) setup.offload = time::OptimizerOffload::all;
}

/// --fsdp by accelerate's names, or --deepspeed.
SaidSharing said_sharing(const TrainRecipe& recipe) {
  const SaidZero zero = said_zero(recipe);
  SaidSharing said{.has_engine = runs_deepspeed(recipe),
                   .zero = zero.stage,
                   .offloads_optimizer = zero.offloads_optimizer,
                   .offloads_parameters = zero.offloads_parameters};
  if (!trainer_of(recipe).fsdp) return said;
  using Shards = SaidSharing::Shards;
  const FsdpRecipe& fsdp = *trainer_of(recipe).fsdp;
  const bool keeps =
      fsdp.version == 2 ? !fsdp.reshard_after_forward : fsdp.sharding_strategy == "SHARD_GRAD_OP";
  const bool cuts = fsdp.version == 2 || fsdp.sharding_strategy != "NO_SHARD";
  said.shards = !cuts ? Shards::none : keeps ? Shards::kept_whole : Shards::cut_again;
  said.offloads_parameters |= fsdp.cpu_offload;
  return said;
}

std::vector<std::string> warnings(const Config& config, const TrainRecipe& recipe) {
  std::vector<std::string> lines;
  const bool is_awq =  // GPTQ's layers are spared the cast
      config.object("quantization_config").text("quant_method", "") == "awq";
  if ((recipe.quantization || is_awq) && !recipe.prepare_for_kbit_training &&
      prepares_for_kbit(recipe))
    lines.emplace_back(
        "peft's prepare_model_for_kbit_training is taken to be called, which makes what is not "
        "quantized float32; --prepare_model_for_kbit_training false if it is not");
  for (std::string& line : quantized_checkpoint_warnings(config)) lines.push_back(std::move(line));
  if (recipe.quantization && recipe.quantization->int8 && recipe.quantization->int8_threshold > 0)
    lines.emplace_back(
        "how many columns of the inputs hold outliers depends on the data; LLM.int8() is counted "
        "with none");
  return lines;
}

std::vector<Lever> fused_optimizer(const TrainRecipe& recipe) {
  if (trainer_of(recipe).optim != "adamw_torch") return {};
  return {{{{"optim", "adamw_torch_fused"}}, "none: the same update by one kernel", true}};
}

std::vector<Lever> smaller_states(const TrainRecipe& recipe) {
  if (recipe.bitsandbytes_optim || recipe.optimizer != OptimizerName::adamw ||
      !trainer_of(recipe).optim.starts_with("adamw_torch"))
    return {};
  return {{{{"optim", "adamw_8bit"}}, "optimizer state of 8 bits (bitsandbytes)"}};
}

std::vector<Lever> adapters(const TrainRecipe& recipe) {
  std::vector<Lever> found;
  if (!recipe.lora)
    found.push_back({{{"peft", R"({"r": 16, "target_modules": "all-linear"})"}},
                     "trains adapters instead of all weights"});
  if (!recipe.quantization)
    found.push_back({{{"quantization", std::string(kQloraQuantization)}},
                     "the weights beneath the adapters are rounded to 4 bits"});
  return found;
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "transformers",
                  .summary = "Trainer, with its TrainingArguments",
                  .takes = {.training_arguments = true, .loss = "liger"},
                  .absent = kAbsent,
                  .arguments = "Trainer's arguments",
                  .argument = argument,
                  .has_optimizer =
                      [](std::string_view name) { return other_optim(name).has_value(); },
                  .start = start_arguments,
                  .finish = finish_arguments,
                  .check = check_options},
    .tasks = torch::kAllTasks,
    .packages = packages_of_program,
    .settle = settle,
    .data_ranks = torch::data_ranks,
    .plan = make_plan,
    .ranks = ranks_of_plan,
    .run = run_plan,
    .warnings = warnings,
    .engine_share = engine_share,
    .levers = {.micro_batch = "per_device_train_batch_size",
               .accumulation = "gradient_accumulation_steps",
               .checkpointing = {"gradient_checkpointing", "true"},
               .sharing = reduced_each,
               .fused_optimizer = fused_optimizer,
               .smaller_states = smaller_states,
               .adapters = adapters},
    .time = {.read = read_time},
    .space = PlanSpace::trainer,
    .sharing = {.takes_ds_config = true},
    .said_sharing = said_sharing,
    .planned = {.on_one_gpu = 2, .on_many = 6},
    .exported = ExportedProgram::trainer,
    .real_step = RealStep::trainer};

}  // namespace memtape::transformers
