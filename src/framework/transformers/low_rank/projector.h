// SPDX-License-Identifier: Apache-2.0
// GaLoreProjector (galore-torch 1.0, galore_projector.py) and GradientProjector of APOLLO
// (apollo-torch 1.0, random_projector.py): a matrix reduces a gradient [m, n] to rank r. It is made
// anew every update_proj_gap steps, from the gradient's singular vectors or from noise.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "framework/transformers/trainer_recipe.h"
#include "ghost/tensor.h"

namespace memtape::transformers {

class Projector {
 public:
  enum class Kind { svd, random };
  Projector(const LowRankRecipe& recipe, Kind kind) : recipe_(&recipe), kind_(kind) {}

  ghost::Tensor project(const ghost::Tensor& full_rank_grad);
  ghost::Tensor project_back(const ghost::Tensor& low_rank_grad) const;
  /// The bytes that it keeps from step to step.
  Bytes bytes() const;

 private:
  using Tensor = ghost::Tensor;
  enum class Side { left, right, full };

  Side side_of(const Tensor& grad) const;
  bool goes_back_from_the_right(const Tensor& low_rank_grad) const;
  void get_orthogonal_matrix(const Tensor& weights, Side side);
  void decompose(const Tensor& weights, Side side);
  Tensor random_matrix(const Tensor& weights, Side side) const;

  const LowRankRecipe* recipe_;
  Kind kind_;
  std::int64_t steps_ = 0;
  Tensor ortho_matrix_, ortho_matrix_2_;  ///< the second one is for proj_type="full"
};

Bytes bytes_of_all(const std::vector<Projector>& projectors);

}  // namespace memtape::transformers
