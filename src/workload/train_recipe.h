// SPDX-License-Identifier: Apache-2.0
// TrainRecipe: how a model is trained, but not on which hardware: precision, optimizer,
// checkpointing, adapters, batch. The fields have the names of the command line; the defaults are
// those of the plain PyTorch loop.
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "family/task.h"
#include "model/expert_load.h"
#include "release/requirement_list.h"
#include "workload/layout_recipe.h"
#include "workload/lora_recipe.h"
#include "workload/step_choices.h"
#include "workload/trainer_choices.h"

namespace memtape {

struct Framework;
using family::Task;

/// What one framework alone can be asked for, as a value of a type of its own; of what nobody has
/// asked for, the defaults.
class OwnRecipe {
 public:
  template <class T>
  T& of() {
    T* held = std::any_cast<T>(&held_);
    return held ? *held : held_.emplace<T>();
  }
  template <class T>
  const T& of() const {
    static const T nothing;
    const T* held = std::any_cast<T>(&held_);
    return held ? *held : nothing;
  }

 private:
  std::any held_;
};

struct TrainRecipe {
  const Framework* framework = nullptr;     ///< null: nobody has named one, so it is the plain loop
  Release release;                          ///< the release of every package whose code runs
  std::vector<Package> named_releases;      ///< the packages whose releases somebody named
  std::string releases_from{kNewestKnown};  ///< who named them: an option, a file, an environment
  OwnRecipe own;                            ///< what only the framework can be asked for
  TrlTrainer trl = TrlTrainer::none;
  Task task = Task::causal_lm;
  bool names_task = false;  ///< false: the model's family decides
  Precision precision = Precision::bf16;
  std::optional<LowBits> low_bits;  ///< for products, in addition to a precision of bf16
  /// The dtype of the parameters; if not set, it follows from the precision.
  std::optional<DType> weights;
  AttentionChoice attention = AttentionChoice::sdpa;
  bool names_attention = false;  ///< false: the model's default, eager where it has no sdpa
  std::int64_t micro_batch_size = 1;
  std::int64_t sequence_length = 2048;
  /// False: it is at most the number of positions that the model has.
  bool names_sequence_length = false;
  /// That of an encoder-decoder's labels; if not set, the inputs'.
  std::optional<std::int64_t> target_length;
  /// Those of a classifier; if not set, the configuration's.
  std::optional<std::int64_t> num_labels;
  std::int64_t gradient_accumulation = 1;
  bool names_gradient_accumulation = false;  ///< by any of its names, or by a global batch
  /// The sequences of a step on all GPUs, as asked for.
  std::optional<std::int64_t> global_batch_size;
  Checkpointing checkpointing = Checkpointing::none;
  OptimizerName optimizer = OptimizerName::adamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::foreach;
  std::optional<BitsAndBytesOptim> bitsandbytes_optim;  ///< in place of the optimizer
  std::string optimizer_name;         ///< as the framework calls it; "": as the command line does
  bool names_optimizer_impl = false;  ///< false: the form that the optimizer has by default
  std::optional<double> max_grad_norm = 1.0;
  bool compile = false;        ///< torch.compile(model) before the plain loop
  bool torch_compile = false;  ///< Trainer's: the figures are without it, the bounds wider
  bool use_liger_kernel = false;
  bool batch_has_mask = true;  ///< tokenizers return one
  /// The labels of a micro-batch that are not -100, if memory depends on them. If it is not set,
  /// all labels count that have a token before them.
  std::optional<std::int64_t> scored_tokens;
  EvaluationRecipe evaluation;
  bool loads_on_host = false;  ///< before it is cut over GPUs
  /// Threads may bring all weights in 16 bits before the first is packed.
  bool loads_in_threads = false;
  bool leaves_images_out = false;  ///< of a model with a tower, whose batches are taken to be text
  ProgramRecipe program;
  std::optional<LoraRecipe> lora;
  std::optional<QuantizationRecipe> quantization;
  /// Whether peft's prepare_model_for_kbit_training is called on the quantized model. If it is not
  /// set, it is called.
  std::optional<bool> prepare_for_kbit_training;
  ExpertLoad expert_load;
  LayoutRecipe layout;
  std::optional<InitDevice> init_device;  ///< if not set, what programs of the framework do
  std::vector<std::string> freeze;        ///< globs for the names of parameters
  std::vector<std::string> assumed;       ///< what was assumed because nothing was said
  /// What was asked for and changes memory in a way that is not modelled. The figures are given
  /// without it, and the bounds are wider.
  std::vector<std::string> not_modelled;
  /// What adds an amount that nothing here limits, in short: the bounds have no upper end.
  std::vector<std::string> not_bounded;

  bool is_of_trl() const { return trl != TrlTrainer::none; }
  bool autocasts() const {
    return precision == Precision::amp_bf16 || precision == Precision::amp_fp16;
  }
  DType autocast_dtype() const {
    return precision == Precision::amp_fp16 ? DType::float16 : DType::bfloat16;
  }
  /// The dtype in which the parameters are held.
  DType parameter_dtype() const {
    if (weights) return *weights;
    if (precision == Precision::bf16) return DType::bfloat16;
    return precision == Precision::fp16 ? DType::float16 : DType::float32;
  }
};

}  // namespace memtape
