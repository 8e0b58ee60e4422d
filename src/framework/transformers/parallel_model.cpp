// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/parallel_model.h"

#include <utility>

#include "framework/ddp/distributed_data_parallel.h"
#include "framework/deepspeed/engine.h"
#include "framework/deepspeed/initialize.h"
#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/fsdp2/fully_shard.h"
#include "framework/torch/data_parallel.h"
#include "framework/torch/freeze.h"
#include "framework/torch/gradient_checkpointing.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/strategy.h"
#include "framework/transformers/decay_parameters.h"
#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/quantized_model.h"
#include "framework/transformers/trainer_recipe.h"
#include "ghost/autograd/node.h"
#include "release/trainer_changes.h"

namespace memtape::transformers {
namespace {

/// DistributedDataParallelKwargs: a cap of 25 MiB is its default, which goes for none.
ddp::Options ddp_options(const TrainRecipe& recipe) {
  const DdpRecipe& asked = trainer_of(recipe).ddp;
  ddp::Options options;
  if (asked.bucket_cap_mb != 25.0) options.bucket_cap_mb = asked.bucket_cap_mb;
  options.static_graph = asked.static_graph;
  options.broadcast_buffers = asked.broadcast_buffers;
  // _build_accelerator_args; a PeftModel is no PreTrainedModel.
  const bool breaks_checkpointing = !recipe.lora && recipe.checkpointing != Checkpointing::none;
  options.find_unused_parameters = asked.find_unused_parameters.value_or(!breaks_checkpointing);
  return options;
}

Layout all_shard(const TrainRecipe& recipe) {
  return Layout({{"replicate", 1}, {"shard", recipe.layout.gpus}});
}

/// set_mixed_precision: one dtype for all.
std::optional<DType> mixed_dtype(const TrainRecipe& recipe) {
  return recipe.autocasts() ? std::optional(recipe.autocast_dtype()) : std::nullopt;
}

/// Whether weights of 4 bits lie in elements of floating point, which can be cut.
bool stores_packed_as_floats(const TrainRecipe& recipe) {
  return recipe.quantization && !recipe.quantization->int8 &&
         recipe.quantization->storage != DType::uint8;
}

/// update_fsdp_plugin_peft (transformers 5.17, distributed/fsdp.py): a quantized base is gathered
/// in its storage's dtype, whatever the mixed precision. Only FSDP1's way of preparing calls it.
std::optional<DType> fsdp1_dtype(const TrainRecipe& recipe) {
  return stores_packed_as_floats(recipe) ? std::optional(recipe.quantization->storage)
                                         : mixed_dtype(recipe);
}

fsdp1::Options fsdp1_options(const TrainRecipe& recipe) {
  const FsdpRecipe& asked = *trainer_of(recipe).fsdp;
  fsdp1::Options options;
  options.sharding_strategy =
      asked.sharding_strategy == "SHARD_GRAD_OP" ? fsdp1::ShardingStrategy::shard_grad_op
      : asked.sharding_strategy == "NO_SHARD"    ? fsdp1::ShardingStrategy::no_shard
                                                 : fsdp1::ShardingStrategy::full_shard;
  options.param_dtype = options.reduce_dtype = options.buffer_dtype = fsdp1_dtype(recipe);
  options.use_orig_params = asked.use_orig_params;
  options.upcasts_trainable =
      recipe.autocasts() && recipe.release.has(changes::kFsdp1UpcastsTrained);
  options.backward_prefetch =
      asked.backward_prefetch == "BACKWARD_PRE"    ? fsdp1::BackwardPrefetch::pre
      : asked.backward_prefetch == "BACKWARD_POST" ? fsdp1::BackwardPrefetch::post
                                                   : fsdp1::BackwardPrefetch::none;
  options.forward_prefetch = asked.forward_prefetch;
  options.wraps_layers = asked.wrap == FsdpRecipe::Wrap::layers;
  if (asked.wrap == FsdpRecipe::Wrap::by_size) options.min_num_params = asked.min_num_params;
  options.wraps_trained_leaves = recipe.lora.has_value();  // update_fsdp_plugin_peft
  options.checkpoints_inside = asked.reentrant_wrappers;
  options.ignores_adapters = trainer_of(recipe).lora_kernels.of_fms_acceleration;
  options.cpu_offload = asked.cpu_offload;
  options.sync_module_states = asked.sync_module_states;
  options.mesh = all_shard(recipe);
  return options;
}

fsdp2::Options fsdp2_options(const TrainRecipe& recipe) {
  const FsdpRecipe& asked = *trainer_of(recipe).fsdp;
  fsdp2::Options options;
  const std::optional<DType> dtype = mixed_dtype(recipe);
  options.mixed_precision = {.param_dtype = dtype, .reduce_dtype = dtype, .output_dtype = dtype};
  options.reshard_after_forward = asked.reshard_after_forward;
  options.cpu_offload = asked.cpu_offload;
  options.ends = fsdp2::WrappedEnds::as_accelerate;
  options.is_peft_model = recipe.lora.has_value();
  options.ignores_integers = recipe.quantization.has_value();
  options.tells_last_backward = false;  // no_sync leaves it alone
  options.mesh = all_shard(recipe);
  return options;
}

/// _prepare_fsdp2: while the model is cut, its old parameters live in a state_dict, and the
/// optimizer, which has been made already, holds a number in the place of each.
std::unique_ptr<torch::DrivenModel> prepare_fsdp2(family::PretrainedModel& model,
                                                  const TrainRecipe& recipe, int rank) {
  const bool on_host = torch::init_device(recipe) != InitDevice::cuda;
  std::vector<ghost::Tensor> swapped;
  for (const ghost::Tensor& p : grouped_parameters(model).parameters) {
    const ghost::HostGuard host(on_host);
    const ghost::Op op("empty", {});
    swapped.push_back(ghost::empty({1}, p.dtype()));
  }
  if (recipe.autocasts() && !recipe.quantization && trainer_of(recipe).fsdp_config.upcast_trained) {
    const ghost::HostGuard host(on_host);
    torch::upcast_trained(nn::named_parameters(model.tree.root()));
  }
  std::vector<ghost::Ptr<ghost::Storage>> original_sd;
  for (const ghost::Tensor& p : nn::parameters(model.tree.root()))
    original_sd.push_back(p.impl().storage);
  return fsdp2::shard_model(model, fsdp2_options(recipe), rank);
}

}  // namespace

Parallelism parallelism_of(const TrainRecipe& recipe) {
  if (runs_deepspeed(recipe)) return Parallelism::deepspeed;
  if (trainer_of(recipe).fsdp)
    return trainer_of(recipe).fsdp->version == 1 ? Parallelism::fsdp1 : Parallelism::fsdp2;
  if (recipe.layout.gpus > 1) return Parallelism::ddp;
  return recipe.layout.replicas > 1 ? Parallelism::replicas : Parallelism::none;
}

bool reduces_each_batch(const TrainRecipe& recipe) {
  return trainer_of(recipe).sync_each_batch ||
         (parallelism_of(recipe) == Parallelism::fsdp2 &&
          !recipe.release.has(changes::kFsdp2AccumulatesWhole));
}

std::vector<Lever> reduced_each(const TrainRecipe& recipe) {
  if (!trainer_of(recipe).fsdp || recipe.gradient_accumulation < 2 || reduces_each_batch(recipe))
    return {};
  return {
      {{{"accelerator_config", R"({"gradient_accumulation_kwargs": {"sync_each_batch": true}})"}},
       std::string(kReducesEach)}};
}

std::unique_ptr<torch::DrivenModel> prepare_parallel(family::PretrainedModel& model,
                                                     const TrainRecipe& recipe, int rank) {
  if (trainer_of(recipe).fsdp &&
      trainer_of(recipe).fsdp->activation_checkpointing)  // checkpoint_wrapper
    model.tree.gradient_checkpointing = nn::GradientCheckpointing::non_reentrant;
  if (trainer_of(recipe).fsdp && trainer_of(recipe).fsdp->reentrant_wrappers)
    torch::enable_gradient_checkpointing(model, nn::GradientCheckpointing::reentrant);
  switch (parallelism_of(recipe)) {
    case Parallelism::none: return std::make_unique<torch::DrivenModel>(model);
    case Parallelism::replicas: return torch::data_parallel(model, recipe.layout.replicas);
    case Parallelism::ddp: return ddp::wrap_model(model, ddp_options(recipe));
    case Parallelism::fsdp1: return fsdp1::shard_model(model, fsdp1_options(recipe), rank);
    case Parallelism::fsdp2: return prepare_fsdp2(model, recipe, rank);
    case Parallelism::deepspeed: break;  // Trainer makes the engine
  }
  return nullptr;
}

namespace {

Result<void> check_generation(const TrainRecipe& recipe) {
  if (!recipe.lora || trainer_of(recipe).fsdp->version == 2) return {};
  return bad_input("transformers' generate() meets FSDP 1's adapters in another dtype, and fails",
                   "--fsdp", R"(--fsdp_config '{"version": 2}', or --deepspeed)");
}

/// A flat tensor of FSDP1 has one dtype, and that is no integer (_validate_tensors_to_flatten).
Result<void> check_quantized_fsdp(const TrainRecipe& recipe) {
  if (recipe.quantization->int8)
    return unsupported("a base in 8 bits under Trainer's FSDP is not modelled", "--fsdp",
                       "load_in_4bit");
  if (trainer_of(recipe).fsdp->version == 2) return {};
  if (!stores_packed_as_floats(recipe))
    return bad_input("FSDP 1 cannot flatten 4-bit weights that are stored as integers",
                     "--quantization", R"("bnb_4bit_quant_storage": "bfloat16")");
  if (recipe.prepare_for_kbit_training.value_or(false))
    return bad_input("FSDP 1 cannot flatten the float32 norms that peft makes with what is packed",
                     "--prepare_model_for_kbit_training", "false");
  return {};
}

Result<void> check_fsdp(const TrainRecipe& recipe) {
  const FsdpRecipe& fsdp = *trainer_of(recipe).fsdp;
  if (recipe.quantization)
    if (const Result<void> fine = check_quantized_fsdp(recipe); !fine) return fine;
  if (fsdp.version == 1 && recipe.lora && recipe.lora->use_dora)  // dora.py: lora_A.weight.shape[1]
    return bad_input("peft's DoRA asks FSDP 1's flat shards for two dimensions, and fails",
                     "--peft", R"("use_dora": false)");
  const bool scales = recipe.precision == Precision::amp_fp16 && fsdp.version == 1;
  if (scales &&
      trainer_of(recipe).optim == "adamw_torch_fused")  // found_inf has one dimension there
    return bad_input("the fused AdamW fails on what FSDP 1's gradient scaler hands it", "--fp16",
                     "--bf16, or --fsdp_config '{\"version\": 2}'");
  if (fsdp.wrap == FsdpRecipe::Wrap::by_size && (recipe.lora || recipe.is_of_trl()))
    return unsupported("wrapping by size is modelled for Trainer without adapters",
                       "--fsdp_config: auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  return {};
}

}  // namespace

std::unique_ptr<torch::DrivenModel> prepare_reference(family::PretrainedModel& model,
                                                      const TrainRecipe& recipe, int rank) {
  switch (parallelism_of(recipe)) {
    case Parallelism::fsdp1: {
      fsdp1::Options options = fsdp1_options(recipe);
      options.upcasts_trainable = false;
      return fsdp1::shard_model(model, options, rank);
    }
    case Parallelism::fsdp2: {
      fsdp2::Options options = fsdp2_options(recipe);
      options.wraps_layers = false;
      options.ends = fsdp2::WrappedEnds::none;
      return fsdp2::shard_model(model, options, rank);
    }
    case Parallelism::deepspeed:
      deepspeed::cast_parameters(model, engine_recipe(recipe).parameter_dtype());
      break;
    default: break;
  }
  return std::make_unique<torch::DrivenModel>(model);
}

Result<void> check_parallel(const TrainRecipe& recipe) {
  if (const Result<void> fine = torch::check_axes(recipe.layout, {"dp"}); !fine) return fine;
  const auto dp = torch::remaining_axis(recipe.layout, "dp", recipe.layout.dp, 1);
  if (!dp) return tl::unexpected(dp.error());
  if (recipe.program.trains_preferences() && trainer_of(recipe).fsdp)
    return unsupported("LLaMA-Factory's trainer of preferences is not modelled over FSDP", "--fsdp",
                       "leave it out, or --deepspeed");
  if (recipe.layout.gpus > 1 && (recipe.program.is_kto() || recipe.program.trains_value_head()))
    return unsupported("LLaMA-Factory's stages kto and rm are modelled on one GPU", "--gpus", "1");
  if (recipe.layout.gpus > 1 && trainer_of(recipe).grpo && trainer_of(recipe).fsdp)
    if (const Result<void> fine = check_generation(recipe); !fine) return fine;
  if (runs_deepspeed(recipe)) return check_deepspeed(recipe);
  if (recipe.layout.gpus == 1 || !trainer_of(recipe).fsdp) return {};
  return check_fsdp(recipe);
}

namespace {

/// Of a quantized base, whose packed weights are what is cut.
Result<std::vector<torch::RankClass>> quantized_rank_classes(const Config& config,
                                                             const TrainRecipe& recipe) {
  ghost::Session session({}, recipe.release);
  const ghost::HostGuard nothing_is_taken;
  const Result<QuantizedModel> loaded = load_quantized(config, recipe);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const auto ready = torch::adapt_model(*loaded->model, recipe, config); !ready)
    return tl::unexpected(ready.error());
  session.finished = true;
  nn::ModuleNode& root = loaded->model->tree.root();
  const std::int64_t gpus = recipe.layout.gpus;
  if (parallelism_of(recipe) == Parallelism::fsdp1)
    return fsdp1::rank_classes(root, gpus, fsdp1_options(recipe));
  std::vector<std::int64_t> rows;
  for (const ghost::Tensor& p : nn::parameters(root)) rows.push_back(p.size(0));
  return fsdp2::rank_classes(std::move(rows), gpus, fsdp2_options(recipe));
}

}  // namespace

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Engines& engines) {
  if (trainer_of(recipe).fsdp && recipe.quantization) return quantized_rank_classes(config, recipe);
  switch (parallelism_of(recipe)) {
    case Parallelism::fsdp1: return fsdp1::rank_classes(config, recipe, fsdp1_options(recipe));
    case Parallelism::fsdp2: return fsdp2::rank_classes(config, recipe, fsdp2_options(recipe));
    case Parallelism::deepspeed:
      return deepspeed::rank_classes(
          config, engine_recipe(recipe), *engines.trained,
          [&](family::PretrainedModel& model) { return second_group(model, recipe); });
    default: return torch::all_alike(recipe.layout);
  }
}

}  // namespace memtape::transformers
