// SPDX-License-Identifier: Apache-2.0
// GaLoreAdafactor (galore-torch 1.0, adafactor.py): transformers' Adafactor, which computes the
// update of a target at low rank.
#pragma once

#include "framework/torch/optimizers/adafactor_hf.h"
#include "framework/transformers/low_rank/projector.h"

namespace memtape::transformers {

class GaloreAdafactor final : public torch::AdafactorHf {
 public:
  GaloreAdafactor(torch::TensorList parameters, std::size_t first_target,
                  const LowRankRecipe& recipe)
      : AdafactorHf(std::move(parameters)),
        first_target_(first_target),
        projectors_(parameters_.size() - first_target, Projector(recipe, Projector::Kind::svd)) {}

  Bytes state_bytes() const override {
    return AdafactorHf::state_bytes() + bytes_of_all(projectors_);
  }

 private:
  ghost::Tensor project(ghost::Tensor grad, std::size_t place) override {
    if (place < first_target_) return grad;
    return projectors_[place - first_target_].project(grad);
  }
  ghost::Tensor project_back(ghost::Tensor update, std::size_t place) override {
    if (place < first_target_) return update;
    return projectors_[place - first_target_].project_back(update);
  }

  std::size_t first_target_;
  std::vector<Projector> projectors_;
};

}  // namespace memtape::transformers
