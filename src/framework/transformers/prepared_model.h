// SPDX-License-Identifier: Apache-2.0
// The model as Accelerator.prepare_model (accelerate 1.15) leaves it, with its forward under
// autocast and its outputs as float32, and what replaces its forward by another.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "family/pretrained.h"
#include "framework/torch/train_loop.h"
#include "ghost/autocast.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

class PreparedModel {
 public:
  using Forward = std::function<family::ModelOutput(const family::Batch&)>;

  /// trl itself prepares a reference (prepare_fsdp, prepare_deepspeed of models/utils.py) and
  /// leaves its forward as it is.
  enum class Role { trained, reference };
  PreparedModel(const TrainRecipe& recipe, family::PretrainedModel& model,
                Role role = Role::trained);

  /// model.forward = ...
  void replace_forward(Forward forward) { forward_ = std::move(forward); }
  /// Sets what wraps it for several GPUs.
  void wrap_in(torch::DrivenModel& wrapper) { wrapper_ = &wrapper; }
  void unwrap() { wrapper_ = nullptr; }

  /// model(**inputs)
  family::ModelOutput operator()(const family::Batch& inputs) const;
  /// The same without what wraps the model: the forward as prepare_model patches it.
  family::ModelOutput unwrapped(const family::Batch& inputs) const;

  /// What a program calls: Trainer's `model_wrapped`, or its `model`, which is the model below the
  /// wrapper, except over FSDP (_prepare_for_training).
  enum class Callee { model_wrapped, model };
  /// The same for another forward, whose outputs are already float32.
  void call(const std::function<torch::DrivenModel::Outputs()>& forward, Callee callee) const;

  /// Runs `forward` without what wraps the model.
  template <class F>
  auto autocasting(F&& forward) const {
    if (!is_patched_ || !recipe_.autocasts()) return forward();
    const ghost::AutocastContext autocast(true, recipe_.autocast_dtype());
    return forward();
  }

  family::PretrainedModel& model() const { return model_; }

  /// For a model whose modules gather only their own parameters: this gathers other parameters.
  using Gather = std::function<std::shared_ptr<void>(const std::vector<ghost::Tensor>&)>;
  void gather_with(Gather gather) { gather_ = std::move(gather); }
  bool is_gathered_by_module() const { return gather_ != nullptr; }
  /// For a model whose wrapper cannot generate: this unwraps it while it generates.
  using Unwrap = std::function<std::shared_ptr<void>()>;
  void unwrap_with(Unwrap unwrap) { unwrap_ = std::move(unwrap); }
  bool is_unwrapped_to_generate() const { return unwrap_ != nullptr; }
  /// unwrap_model_for_generation of trl, in force as long as the returned object lives.
  std::shared_ptr<void> unwrapped_to_generate() const { return unwrap_ ? unwrap_() : nullptr; }
  /// The parameters are whole for at least as long as the returned object lives.
  std::shared_ptr<void> gathered(const std::vector<ghost::Tensor>& parameters) const {
    return gather_(parameters);
  }

 private:
  const TrainRecipe& recipe_;
  family::PretrainedModel& model_;
  Forward forward_;
  Gather gather_;
  Unwrap unwrap_;
  torch::DrivenModel* wrapper_ = nullptr;
  bool is_patched_;  ///< fully_shard has its own mixed precision and needs no autocast
};

}  // namespace memtape::transformers
