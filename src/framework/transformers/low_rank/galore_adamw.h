// SPDX-License-Identifier: Apache-2.0
// GaLoreAdamW (galore-torch 1.0, adamw.py) and APOLLOAdamW (apollo-torch 1.0, apollo.py): a loop
// over parameters in their own dtype, in which the moments of targets have low rank. GaLore
// projects the update back. APOLLO scales the gradient, channel by channel, by what the update at
// low rank did to it, and limits how fast it grows.
#pragma once

#include "framework/torch/optimizer.h"
#include "framework/transformers/low_rank/projector.h"

namespace memtape::transformers {

class LowRankAdamW : public torch::Optimizer {
 public:
  /// Parameters from place `first_target` on are targets.
  LowRankAdamW(torch::TensorList parameters, std::size_t first_target, const LowRankRecipe& recipe,
               Projector::Kind kind);

  Bytes state_bytes() const override {
    return Optimizer::state_bytes() + bytes_of_all(projectors_);
  }

 protected:
  using Tensor = ghost::Tensor;
  /// Turns exp_avg / denom into what is added to a target.
  virtual Tensor full_rank_update(Tensor norm_grad, const Tensor& grad, std::size_t place) = 0;
  const Projector& projector(std::size_t place) const { return projectors_[place - first_target_]; }
  std::vector<const torch::TensorList*> states() const override {
    return {&exp_avg_, &exp_avg_sq_};
  }
  void step_over(const torch::Places& places) override;

 private:
  bool one_pass_over_groups() const override { return true; }
  void init_state(const Tensor& grad, std::size_t place);

  std::size_t first_target_;
  std::vector<Projector> projectors_;
  torch::TensorList exp_avg_, exp_avg_sq_;
};

class GaloreAdamW final : public LowRankAdamW {
 public:
  GaloreAdamW(torch::TensorList parameters, std::size_t first_target, const LowRankRecipe& recipe)
      : LowRankAdamW(std::move(parameters), first_target, recipe, Projector::Kind::svd) {}

 private:
  Tensor full_rank_update(Tensor norm_grad, const Tensor&, std::size_t place) override {
    return projector(place).project_back(norm_grad);
  }
};

class ApolloAdamW final : public LowRankAdamW {
 public:
  ApolloAdamW(torch::TensorList parameters, std::size_t first_target, const LowRankRecipe& recipe);

 private:
  void step_over(const torch::Places& places) override;
  Tensor full_rank_update(Tensor norm_grad, const Tensor& grad, std::size_t place) override;
  std::vector<const torch::TensorList*> states() const override;
  Tensor scaling_factor(const Tensor& norm_grad, const Tensor& grad, int norm_dim) const;
  void limit_growth(std::size_t place);

  bool per_tensor_;
  torch::TensorList scaled_grad_norms_;
  // Locals of step() that live on from one parameter to the next.
  Tensor grad_scaling_factor_, scaled_grad_, scaled_grad_norm_;
};

}  // namespace memtape::transformers
