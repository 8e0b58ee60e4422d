// SPDX-License-Identifier: Apache-2.0
// The model as Accelerator.prepare_model (accelerate 1.15) leaves it: its forward under autocast,
// its outputs as float32; and what puts another forward in its place.
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

  /// A reference is prepared by trl (prepare_fsdp, prepare_deepspeed of models/utils.py), which
  /// leaves its forward as it is.
  enum class Role { trained, reference };
  PreparedModel(const TrainRecipe& recipe, family::PretrainedModel& model,
                Role role = Role::trained);

  /// model.forward = ...
  void replace_forward(Forward forward) { forward_ = std::move(forward); }
  /// What wraps it for several GPUs.
  void wrap_in(torch::DrivenModel& wrapper) { wrapper_ = &wrapper; }
  void unwrap() { wrapper_ = nullptr; }

  /// model(**inputs)
  family::ModelOutput operator()(const family::Batch& inputs) const;
  /// The same without what wraps the model: its forward as prepare_model patches it.
  family::ModelOutput unwrapped(const family::Batch& inputs) const;

  /// What a program calls: Trainer's `model_wrapped`, or its `model`, which is below the wrapper
  /// but over FSDP (_prepare_for_training).
  enum class Callee { model_wrapped, model };
  /// The same for another forward, whose outputs are float32 already.
  void call(const std::function<torch::DrivenModel::Outputs()>& forward, Callee callee) const;

  /// `forward` without what wraps the model.
  template <class F>
  auto autocasting(F&& forward) const {
    if (!is_patched_ || !recipe_.autocasts()) return forward();
    const ghost::AutocastContext autocast(true, recipe_.autocast_dtype());
    return forward();
  }

  family::PretrainedModel& model() const { return model_; }

  /// Of a model whose modules gather their own parameters alone: what makes others whole.
  using Gather = std::function<std::shared_ptr<void>(const std::vector<ghost::Tensor>&)>;
  void gather_with(Gather gather) { gather_ = std::move(gather); }
  bool is_gathered_by_module() const { return gather_ != nullptr; }
  /// Of a model whose wrapper does not generate: what it is while it does.
  using Unwrap = std::function<std::shared_ptr<void>()>;
  void unwrap_with(Unwrap unwrap) { unwrap_ = std::move(unwrap); }
  bool is_unwrapped_to_generate() const { return unwrap_ != nullptr; }
  /// trl's unwrap_model_for_generation, in force while what this gives lives.
  std::shared_ptr<void> unwrapped_to_generate() const { return unwrap_ ? unwrap_() : nullptr; }
  /// The parameters are whole while what this gives lives, at the least.
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
  bool is_patched_;  ///< fully_shard's own mixed precision goes without autocast
};

}  // namespace memtape::transformers
