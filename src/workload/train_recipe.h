// SPDX-License-Identifier: Apache-2.0
// TrainRecipe: how a model is trained, apart from where: precision, optimizer, checkpointing,
// adapters, batch. Field names are those of the command line; defaults are the plain PyTorch
// loop's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "family/task.h"
#include "model/expert_load.h"
#include "release/requirement_list.h"
#include "workload/layout_recipe.h"

namespace memtape {

enum class Framework {
  torch,
  transformers,
  ddp,
  fsdp1,
  fsdp2,
  deepspeed,
  torch_tp,
  torch_pp,
  torch_cp,
  litgpt,
  megatron_core,
  torchtitan
};
enum class Precision { fp32, bf16, fp16, amp_bf16, amp_fp16 };
enum class OptimizerName {
  adamw,
  adam,
  sgd,
  sgd_momentum,
  adagrad,
  rmsprop,
  adamax,
  nadam,
  adafactor,
  adafactor_hf
};
enum class OptimizerImpl { fused, foreach, for_loop };
/// `selective` recomputes parts of a layer or some layers, as Megatron and torchtitan do; `layer`
/// is torch.utils.checkpoint around each layer of a pipeline's stage.
enum class Checkpointing { none, full, full_reentrant, selective, layer };
enum class AttentionChoice { eager, sdpa, flash };
/// Where a program makes its model before it goes to the GPU: there, in host memory, or without
/// data.
enum class InitDevice : std::uint8_t { cuda, cpu, meta };
using family::Task;

/// peft's LoraConfig, as far as memory goes. Targets are module names, or "all-linear" alone.
struct LoraRecipe {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
  std::string target_pattern;  ///< a regular expression over whole names, in place of targets
  double dropout = 0.0;
  bool scales = true;  ///< lora_alpha over r, or its root, is not 1
  /// Of `bias`: which biases of the model are trained beside the adapters.
  enum class Biases : std::uint8_t { none, all, lora_only };
  Biases trained_biases = Biases::none;
  bool use_dora = false;
  bool lora_bias = false;                    ///< lora_B has a bias
  bool dropout_switched_off = false;         ///< the module stays, at a rate of 0
  std::vector<std::string> modules_to_save;  ///< trained whole, as copies
  std::vector<std::string> task_heads;       ///< of task_type: the same, where the model has them
  bool spares_task_heads = false;            ///< all-linear leaves them out (SEQ_CLS)
  std::vector<std::string> exclude_modules;  ///< names that are no targets after all
  std::vector<std::int64_t> layers_to_transform;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;  ///< ranks of their own
};

/// transformers' BitsAndBytesConfig, as far as memory goes.
struct QuantizationRecipe {
  bool int8 = false;  ///< load_in_8bit, in place of load_in_4bit
  double int8_threshold = 6.0;
  bool double_quant = false;
  DType compute_dtype = DType::float32;
  DType storage = DType::uint8;           ///< bnb_4bit_quant_storage
  std::vector<std::string> skip_modules;  ///< none: the output head alone
};

/// An optimizer of bitsandbytes.
struct BitsAndBytesOptim {
  enum class Algorithm { adamw, lion, ademamix };
  Algorithm algorithm = Algorithm::adamw;
  int bits = 32;
  bool paged = false;
};

/// What optim_args says to optimizers of torch and torch-optimi beside numbers.
struct OptimArgs {
  bool momentum = false, centered = false, kahan_sum = false;
};

/// What GaLore and APOLLO are told: optim_args by the names there, and optim_target_modules.
struct LowRankRecipe {
  enum class Side : std::uint8_t { std, reverse_std, left, right, full };
  std::int64_t rank = 128, update_proj_gap = 200;
  Side proj_type = Side::std;
  bool svd = false;         ///< APOLLO's proj="svd"; GaLore always projects so
  bool per_tensor = false;  ///< APOLLO's scale_type="tensor"
  std::vector<std::string> target_modules;
  bool is_one_pattern = false;  ///< target_modules was a string: a pattern, or "all-linear"
};

/// liger_kernel_config: the kernels that take the place of the model's own modules.
struct LigerRecipe {
  bool rope = true, rms_norm = true;
  bool gated = true;                       ///< swiglu or geglu
  bool fused_linear_cross_entropy = true;  ///< where the model's type has it
  std::optional<bool> cross_entropy;       ///< not said: where there is no fused one
};

/// trl's SFTConfig, as far as memory goes.
struct SftRecipe {
  bool packing = false;
  bool wraps =
      false;  ///< packing_strategy="wrapped": rows are cut anywhere, as if each were one text
  bool padding_free = false;
  std::optional<bool> eval_packing;              ///< not said: as in training
  std::optional<std::int64_t> packed_sequences;  ///< of a micro-batch that is flattened
  std::string loss_type = "nll";

  /// All of a batch in one row, with positions that start again in each sequence.
  bool flattens() const { return padding_free || (packing && !wraps); }
};

/// trl's DPOConfig, as far as memory goes. A micro-batch is that many pairs.
struct DpoRecipe {
  bool precompute_ref_log_probs = false;
  bool disable_dropout = true;
  std::vector<std::string> loss_types;  ///< none said: sigmoid
  std::string f_divergence_type = "reverse_kl";
};

/// trl.experimental's CPOConfig or ORPOConfig, as far as memory goes. A micro-batch is that many
/// pairs.
struct CpoRecipe {
  bool takes_odds_ratio = false;  ///< ORPOTrainer in its place
  std::string loss_type = "sigmoid";
  double cpo_alpha = 1.0;  ///< weight of the chosen sequences' likelihood; 0: it is not taken
  bool transforms_rewards = false;            ///< alpha, AlphaPO's, is not 0
  std::optional<std::int64_t> prompt_length;  ///< of a sequence; not said: half of it
  bool disable_dropout = true;
};

/// accelerate's DistributedDataParallelKwargs as Trainer sets them; what is not said follows from
/// the model.
struct DdpRecipe {
  std::optional<bool> find_unused_parameters;
  std::optional<double> bucket_cap_mb;
  bool broadcast_buffers = true, static_graph = false;
};

/// accelerate's FullyShardedDataParallelPlugin, as far as memory goes, with what Trainer puts in
/// where fsdp_config says nothing.
struct FsdpRecipe {
  enum class Wrap { layers, by_size, nothing };
  int version = 2;
  bool reshard_after_forward = true;              ///< of version 2
  std::string sharding_strategy = "FULL_SHARD";   ///< of version 1
  std::string backward_prefetch = "NO_PREFETCH";  ///< of version 1, as forward_prefetch ...
  bool forward_prefetch = false, use_orig_params = true, sync_module_states = true;
  bool cpu_offload = false, activation_checkpointing = false;
  Wrap wrap = Wrap::layers;
  std::int64_t min_num_params = 0;
  std::vector<std::string> layer_classes;  ///< none: the model's own
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

/// trl's RewardConfig, as far as memory goes. A micro-batch is that many pairs.
struct RewardRecipe {
  bool centers_rewards = false;  ///< center_rewards_coefficient is set
  bool disable_dropout = true;
};

/// trl's KTOConfig, as far as memory goes. A micro-batch is that many sequences, with as many
/// others beside them where the loss has a KL term.
struct KtoRecipe {
  bool precompute_ref_log_probs = false;
  bool has_kl_term = true;
  bool disable_dropout = true;
};

/// trl's GRPOConfig, as far as memory goes. A micro-batch is that many completions.
struct GrpoRecipe {
  std::int64_t num_generations = 8, max_completion_length = 256, num_iterations = 1;
  std::optional<std::int64_t> prompt_length;  ///< not said: what the sequence has beside
  std::optional<std::int64_t> steps_per_generation, generation_batch_size;
  double temperature = 1.0, top_p = 1.0;
  std::int64_t top_k = 0;
  double beta = 0.0;
  std::string loss_type = "dapo";
  bool per_sequence = false;     ///< importance_sampling_level="sequence"
  bool clips_two_sided = false;  ///< delta is set
  bool leaves_one_out = false;   ///< RLOOTrainer in its place
  bool penalizes_repetition = false, has_min_p = false;
  std::string cache_implementation;   ///< empty: a dynamic one
  bool masks_by_entropy = false;      ///< top_entropy_quantile below 1
  bool adds_entropy_bonus = false;    ///< entropy_coef is not 0
  bool adapts_entropy_bonus = false;  ///< use_adaptive_entropy
  bool corrects_bias_of_kl = false;   ///< use_bias_correction_kl
  bool masks_off_policy = false;      ///< off_policy_mask_threshold is set
  bool masks_truncated = false;       ///< mask_truncated_completions
  bool disable_dropout = false;
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

struct TrainRecipe {
  Framework framework = Framework::torch;
  Release release;                          ///< of every package whose code runs
  std::vector<Package> named_releases;      ///< those that somebody named
  std::string releases_from{kNewestKnown};  ///< who: an option, a file, an environment
  TrainerRecipe trainer;
  Task task = Task::causal_lm;
  bool names_task = false;  ///< else the model's family decides
  Precision precision = Precision::bf16;
  std::optional<DType> weights;  ///< dtype of the parameters; follows the precision when not given
  AttentionChoice attention = AttentionChoice::sdpa;
  std::int64_t micro_batch_size = 1;
  std::int64_t sequence_length = 2048;
  bool names_sequence_length = false;  ///< else it is at most what the model has positions for
  std::optional<std::int64_t> target_length;  ///< of encoder-decoders' labels; else the inputs'
  std::optional<std::int64_t> num_labels;     ///< of a classifier; else the configuration's
  std::int64_t gradient_accumulation = 1;
  bool names_gradient_accumulation = false;       ///< by any of its names, or by a global batch
  std::optional<std::int64_t> global_batch_size;  ///< sequences of a step on all GPUs, as asked
  Checkpointing checkpointing = Checkpointing::none;
  OptimizerName optimizer = OptimizerName::adamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::foreach;
  bool names_optimizer_impl = false;  ///< else it is what the optimizer does by default
  std::optional<double> max_grad_norm = 1.0;
  bool compile = false;  ///< torch.compile(model) before the plain loop
  ProgramRecipe program;
  std::optional<LoraRecipe> lora;
  std::optional<QuantizationRecipe> quantization;
  /// Whether peft's prepare_model_for_kbit_training is called on the quantized model; not said:
  /// yes.
  std::optional<bool> prepare_for_kbit_training;
  ExpertLoad expert_load;
  LayoutRecipe layout;
  std::optional<InitDevice> init_device;  ///< not said: what programs of the framework do
  std::vector<std::string> freeze;        ///< globs over parameter names
  std::vector<std::string> assumed;       ///< what was taken for granted where nothing was said
  /// What was asked for and changes memory in a way that is not modelled: the figures are without
  /// it, the bounds wider.
  std::vector<std::string> not_modelled;

  bool autocasts() const {
    return precision == Precision::amp_bf16 || precision == Precision::amp_fp16;
  }
  DType autocast_dtype() const {
    return precision == Precision::amp_fp16 ? DType::float16 : DType::bfloat16;
  }
  /// The dtype the parameters are held in.
  DType parameter_dtype() const {
    if (weights) return *weights;
    if (precision == Precision::bf16) return DType::bfloat16;
    return precision == Precision::fp16 ? DType::float16 : DType::float32;
  }
};

}  // namespace memtape
