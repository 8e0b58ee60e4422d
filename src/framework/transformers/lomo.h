// SPDX-License-Identifier: Apache-2.0
// LOMO and AdaLOMO (lomo-optim 0.1): the update happens within backward, when the gradient of the
// next parameter is about to arrive, so only the last gradient outlives backward. AdaLOMO keeps
// factored second moments.
#pragma once

#include <unordered_map>

#include "framework/torch/optimizer.h"
#include "ghost/autograd/node.h"

namespace memtape::transformers {

using ghost::Tensor;

class Lomo final : public torch::Optimizer {
 public:
  /// AdaLOMO makes moments for all of `all_parameters`, frozen ones included.
  Lomo(torch::TensorList parameters, const torch::TensorList& all_parameters, bool adaptive);

  /// fused_backward
  void fused_backward(const Tensor& loss);

 private:
  void step_over(const torch::Places&) override {}
  std::vector<const torch::TensorList*> states() const override { return {&moments_}; }

  void update_pending();
  void update(const Tensor& parameter);
  void update_by_moments(const Tensor& parameter, const Tensor& grad);

  Tensor factored_root(const Tensor& row, const Tensor& column) const;

  /// The places in moments_ of exp_avg_sq_row and exp_avg_sq_col of a matrix, or of exp_avg_sq of a
  /// vector.
  struct Moments {
    std::size_t first = 0, second = 0;
  };

  bool adaptive_;
  torch::TensorList moments_;
  std::unordered_map<const ghost::TensorImpl*, Moments> moments_of_;
  std::vector<ghost::Ptr<ghost::Node>> hooks_;
};

}  // namespace memtape::transformers
