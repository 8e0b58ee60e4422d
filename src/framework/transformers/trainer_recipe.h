// SPDX-License-Identifier: Apache-2.0
// TrainerRecipe: what only transformers' Trainer and the programs around it can be asked for, under
// the names of TrainingArguments (transformers 5.17, training_args.py): optimizers that only
// Trainer has (trainer_optimizer.py), and what accelerate makes of the model on several GPUs
// (accelerate 1.15, utils/dataclasses.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/transformers/trl/trl_recipes.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

/// What optim_args says to the optimizers of torch and torch-optimi, apart from numbers.
struct OptimArgs {
  bool momentum = false, centered = false, kahan_sum = false;
};

/// What GaLore and APOLLO are told: optim_args under the names there, and optim_target_modules.
struct LowRankRecipe {
  enum class Side : std::uint8_t { std, reverse_std, left, right, full };
  std::int64_t rank = 128, update_proj_gap = 200;
  Side proj_type = Side::std;
  bool svd = false;         ///< APOLLO's proj="svd"; GaLore always projects in this way
  bool per_tensor = false;  ///< APOLLO's scale_type="tensor"
  std::vector<std::string> target_modules;
  bool is_one_pattern = false;  ///< target_modules was one string: a pattern or "all-linear"
};

/// accelerate's DistributedDataParallelKwargs as Trainer sets them. Values that are not set follow
/// from the model.
struct DdpRecipe {
  std::optional<bool> find_unused_parameters;
  std::optional<double> bucket_cap_mb;
  bool broadcast_buffers = true, static_graph = false;
};

/// accelerate's FullyShardedDataParallelPlugin, as far as it affects memory, with the values that
/// Trainer uses where fsdp_config says nothing.
struct FsdpRecipe {
  enum class Wrap { layers, by_size, nothing };
  int version = 2;
  bool reshard_after_forward = true;              ///< of version 2
  std::string sharding_strategy = "FULL_SHARD";   ///< of version 1
  std::string backward_prefetch = "NO_PREFETCH";  ///< for version 1, and so is forward_prefetch
  bool forward_prefetch = false, use_orig_params = true, sync_module_states = true;
  bool cpu_offload = false, activation_checkpointing = false;
  bool reentrant_wrappers = false;  ///< CheckpointImpl.REENTRANT, of a program of its own
  Wrap wrap = Wrap::layers;
  std::int64_t min_num_params = 0;
  std::vector<std::string> layer_classes;  ///< none: the model's own
};

/// What fsdp_config says, which means nothing without fsdp; where it says nothing, what Trainer and
/// accelerate's plugin take.
struct FsdpConfig {
  std::optional<std::int64_t> version, min_num_params;
  std::string reshard_after_forward;  ///< true or false of version 2, a strategy of version 1
  std::optional<std::string> sharding_strategy, backward_prefetch, auto_wrap_policy;
  std::vector<std::string> layer_classes;
  bool forward_prefetch = false, use_orig_params = true, sync_module_states = true;
  bool loads_on_one_rank = false;  ///< cpu_ram_efficient_loading
  bool offload_params = false, activation_checkpointing = false, xla = false;
  bool reentrant_wrappers = false;  ///< memtape's own
  std::optional<bool> cpu_offload;
  bool upcast_trained =
      true;  ///< memtape's own: fsdp2_prepare_model makes float32 of what is trained
};

/// liger_kernel_config: the kernels that replace the model's own modules.
struct LigerRecipe {
  bool rope = true, rms_norm = true;
  bool gated = true;                       ///< swiglu or geglu
  bool fused_linear_cross_entropy = true;  ///< where the model's type has it
  std::optional<bool> cross_entropy;       ///< if not set, it is used where there is no fused one
};

/// The layers of peft that axolotl runs in fused functions (lora_qkv_kernel, lora_o_kernel,
/// lora_mlp_kernel), or fms-acceleration in its own.
struct FusedLoraRecipe {
  bool qkv = false, o = false, mlp = false;
  bool of_fms_acceleration = false;  ///< FSDP then leaves the adapters whole
  bool any() const { return qkv || o || mlp; }
};

/// What only Trainer's TrainingArguments can ask for, under their names there.
struct TrainerRecipe {
  std::string optim = "adamw_torch_fused";  ///< the name that stands for the recipe's optimizer
  OptimArgs optim_args;                     ///< what it says beside numbers
  LowRankRecipe low_rank;                   ///< of galore_* and apollo_*
  bool use_reentrant = false;               ///< from gradient_checkpointing_kwargs
  std::optional<bool> use_cache;            ///< if not set, what Trainer leaves or makes of it
  std::optional<std::int64_t> torch_empty_cache_steps;
  double label_smoothing_factor = 0.0;
  std::optional<double> neftune_noise_alpha;
  LigerRecipe liger_kernel_config;
  std::optional<std::int64_t> max_length;  ///< trl's: sequences are cut to it
  std::optional<SftRecipe> sft;            ///< trl's SFTTrainer replaces Trainer
  std::optional<DpoRecipe> dpo;            ///< or its DPOTrainer
  std::optional<RewardRecipe> reward;      ///< or its RewardTrainer
  std::optional<GrpoRecipe> grpo;          ///< or its GRPOTrainer
  std::optional<KtoRecipe> kto;            ///< or its KTOTrainer
  std::optional<CpoRecipe> cpo;  ///< CPOTrainer or ORPOTrainer of trl.experimental replaces Trainer
  /// trl's router_aux_loss_coef; if not set, the model's own.
  std::optional<bool> balances_experts;
  bool averages_tokens_across_devices = true;
  /// GradientAccumulationPlugin.sync_each_batch: the gradients of every micro-batch are reduced, in
  /// place of those of a step's last one.
  bool sync_each_batch = false;
  DdpRecipe ddp;
  std::optional<FsdpRecipe> fsdp;
  FsdpConfig fsdp_config;
  std::optional<deepspeed::DsOptions>
      deepspeed;  ///< a ds_config: its engine replaces accelerate's wrappers
  FusedLoraRecipe lora_kernels;
  bool quantize_moe_experts = false;  ///< axolotl's
  std::string unfrozen_parameters;    ///< axolotl's: an expression over names; "" trains all
};

inline TrainerRecipe& trainer_of(TrainRecipe& recipe) { return recipe.own.of<TrainerRecipe>(); }
inline const TrainerRecipe& trainer_of(const TrainRecipe& recipe) {
  return recipe.own.of<TrainerRecipe>();
}

}  // namespace memtape::transformers
