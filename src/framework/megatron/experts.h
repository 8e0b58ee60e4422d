// SPDX-License-Identifier: Apache-2.0
// MoELayer (megatron/core/transformer/moe): a router, tokens sent to where their experts are, the
// experts of this rank, and the way back. Tokens are taken to be spread evenly over the experts, or
// padded to their capacity where there is one.
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/linear.h"

namespace memtape::megatron {

class MoeLayer {
 public:
  MoeLayer(const nn::Scope& scope, Rank& rank);
  MoeLayer(const MoeLayer&) = delete;  ///< the rank knows where it keeps its last routing
  MoeLayer& operator=(const MoeLayer&) = delete;
  Tensor operator()(const Tensor& x);

 private:
  struct Expert {
    std::unique_ptr<Linear> fc1, fc2;
  };
  Tensor router_probs(const Tensor& rows);
  Tensor run_experts(const Tensor& rows, const Tensor& weights);
  Tensor routed_by_gathering(const Tensor& rows);
  Tensor routed_by_exchange(const Tensor& rows);
  Tensor routed(const Tensor& x);

  Rank& rank_;
  Tensor router_, expert_bias_, tokens_per_expert_, shared_gate_;
  Tensor local_map_, permutation_, local_probs_;  ///< the dispatcher's, of the last routing
  std::vector<Expert> experts_;
  std::unique_ptr<Linear> shared_fc1_, shared_fc2_;
};

}  // namespace memtape::megatron
