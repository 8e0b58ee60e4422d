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
#include <vector>

#include "base/dtype.h"
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
  megatron_core
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
enum class Checkpointing { none, full, full_reentrant };
enum class AttentionChoice { eager, sdpa, flash };
enum class TaskName { causal_lm, masked_lm, seq2seq_lm, image_text_to_text };
inline constexpr std::array kTasks{TaskName::causal_lm, TaskName::masked_lm, TaskName::seq2seq_lm,
                                   TaskName::image_text_to_text};

/// peft's LoraConfig, as far as memory goes. Targets are module names, or "all-linear" alone.
struct LoraRecipe {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
  double dropout = 0.0;
};

/// transformers' BitsAndBytesConfig with load_in_4bit, as far as memory goes.
struct QuantizationRecipe {
  bool double_quant = false;
  DType compute_dtype = DType::float32;
  std::vector<std::string> skip_modules;  ///< none: the output head alone
};

/// An optimizer of bitsandbytes.
struct BitsAndBytesOptim {
  enum class Algorithm { adamw, lion, ademamix };
  Algorithm algorithm = Algorithm::adamw;
  int bits = 32;
  bool paged = false;
};

/// What only Trainer's TrainingArguments can ask for, by their names there.
struct TrainerRecipe {
  std::string optim = "adamw_torch_fused";              ///< the name behind the recipe's optimizer
  std::optional<BitsAndBytesOptim> bitsandbytes_optim;  ///< in place of the recipe's optimizer
  bool use_reentrant = false;                           ///< of gradient_checkpointing_kwargs
  std::optional<std::int64_t> torch_empty_cache_steps;
  double label_smoothing_factor = 0.0;
  std::optional<double> neftune_noise_alpha;
};

struct TrainRecipe {
  Framework framework = Framework::torch;
  TrainerRecipe trainer;
  TaskName task = TaskName::causal_lm;
  bool names_task = false;  ///< else the model's family decides
  Precision precision = Precision::bf16;
  std::optional<DType> weights;  ///< dtype of the parameters; follows the precision when not given
  AttentionChoice attention = AttentionChoice::sdpa;
  std::int64_t micro_batch_size = 1;
  std::int64_t sequence_length = 2048;
  std::int64_t gradient_accumulation = 1;
  Checkpointing checkpointing = Checkpointing::none;
  OptimizerName optimizer = OptimizerName::adamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::foreach;
  bool names_optimizer_impl = false;  ///< else it is what the optimizer does by default
  std::optional<double> max_grad_norm = 1.0;
  std::optional<LoraRecipe> lora;
  std::optional<QuantizationRecipe> quantization;
  /// Whether peft's prepare_model_for_kbit_training is called on the quantized model; not said:
  /// yes.
  std::optional<bool> prepare_for_kbit_training;
  LayoutRecipe layout;
  std::vector<std::string> freeze;  ///< globs over parameter names
  std::vector<std::string>
      not_modelled;  ///< what was asked for and leaves the step's figures as they are

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
