// SPDX-License-Identifier: Apache-2.0
// TrainerRecipe: what only transformers' Trainer and the programs around it can be asked for, by the
// names of TrainingArguments (transformers 5.17, training_args.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workload/accelerate_recipes.h"
#include "workload/optim_recipes.h"
#include "workload/trl_recipes.h"

namespace memtape {

/// liger_kernel_config: the kernels that take the place of the model's own modules.
struct LigerRecipe {
  bool rope = true, rms_norm = true;
  bool gated = true;                       ///< swiglu or geglu
  bool fused_linear_cross_entropy = true;  ///< where the model's type has it
  std::optional<bool> cross_entropy;       ///< not said: where there is no fused one
};

/// Trainer.evaluate between steps.
struct EvaluationRecipe {
  bool runs = false;      ///< eval_strategy, or do_eval with a strategy that runs it
  bool left_out = false;  ///< it would run, but is not modelled
  std::optional<std::int64_t> every_steps;  ///< eval_steps; not said: after the measured step alone
  std::int64_t batch_size = 8;
  std::int64_t samples = 0;  ///< of the evaluation set on all ranks; 0: as many as show the peak
  bool computes_metrics = false, prediction_loss_only = false;
  bool batch_eval_metrics = false, concatenates = true;
  bool includes_inputs = false;
  std::optional<std::int64_t> accumulation_steps;
};

/// Which of peft's layers axolotl runs in fused functions (lora_qkv_kernel and its like).
struct FusedLoraRecipe {
  bool qkv = false, o = false, mlp = false;
  bool any() const { return qkv || o || mlp; }
};

/// What only Trainer's TrainingArguments can ask for, by their names there.
struct TrainerRecipe {
  std::string optim = "adamw_torch_fused";              ///< the name behind the recipe's optimizer
  std::optional<BitsAndBytesOptim> bitsandbytes_optim;  ///< in place of the recipe's optimizer
  OptimArgs optim_args;                                 ///< what it says beside numbers
  LowRankRecipe low_rank;                               ///< of galore_* and apollo_*
  bool use_reentrant = false;                           ///< of gradient_checkpointing_kwargs
  std::optional<std::int64_t> torch_empty_cache_steps;
  double label_smoothing_factor = 0.0;
  std::optional<double> neftune_noise_alpha;
  bool use_liger_kernel = false;
  LigerRecipe liger_kernel_config;
  std::optional<std::int64_t> max_length;  ///< trl's: sequences are cut to it
  std::optional<SftRecipe> sft;            ///< trl's SFTTrainer in place of Trainer
  std::optional<DpoRecipe> dpo;            ///< or its DPOTrainer
  std::optional<RewardRecipe> reward;      ///< or its RewardTrainer
  std::optional<GrpoRecipe> grpo;          ///< or its GRPOTrainer
  std::optional<KtoRecipe> kto;            ///< or its KTOTrainer
  std::optional<CpoRecipe> cpo;            ///< or trl.experimental's CPOTrainer or ORPOTrainer
  /// Labels of a micro-batch that are not -100, where memory depends on it; not said: all that
  /// have a token before them.
  std::optional<std::int64_t> scored_tokens;
  std::optional<bool> balances_experts;  ///< trl's router_aux_loss_coef; not said: the model's own
  bool batch_has_mask = true;            ///< tokenizers return one
  bool averages_tokens_across_devices = true;
  DdpRecipe ddp;
  std::optional<FsdpRecipe> fsdp;
  std::string fsdp_config;  ///< JSON, as it was typed
  std::string deepspeed;    ///< a ds_config's JSON
  EvaluationRecipe evaluation;
  bool torch_compile = false;  ///< the figures are those of the uncompiled step, the bounds wider
  FusedLoraRecipe lora_kernels;

  bool is_of_trl() const { return sft || dpo || reward || grpo || kto || cpo; }
};

/// What programs around transformers put in the place of Trainer, or of parts of it.
struct ProgramRecipe {
  /// pref_loss of LLaMA-Factory's CustomDPOTrainer; or its CustomKTOTrainer or PairwiseTrainer. A
  /// micro-batch is that many pairs, but for KTO.
  enum class Preference : std::uint8_t { none, sigmoid, orpo, simpo, kto, pairwise };
  Preference preference = Preference::none;
  bool is_plain_loop = false;       ///< a loop around accelerate
  bool cut_cross_entropy = false;   ///< axolotl's: no logits at all
  bool upcasts_trained = false;     ///< what is trained of a part becomes float32
  std::int16_t trained_layers = 0;  ///< so many of the last layers alone; negative: of the first

  bool trains_preferences() const { return preference != Preference::none; }
  bool is_kto() const { return preference == Preference::kto; }
  bool trains_value_head() const { return preference == Preference::pairwise; }
  bool has_reference() const { return preference == Preference::sigmoid || is_kto(); }
};

}  // namespace memtape
