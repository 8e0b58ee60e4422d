// SPDX-License-Identifier: Apache-2.0
// TopKRouter (megatron/core/transformer/moe/router.py, moe_utils.py): it gives a weight for each
// token and expert and says whether the token goes there, as [tokens, experts], and it computes the
// losses that spread tokens over experts.
#pragma once

#include "framework/megatron/linear.h"

namespace memtape::megatron {

/// --moe-router-*, --moe-aux-loss-coeff and --moe-z-loss-coeff.
RouterArguments read_router(const Config& config);

struct Routing {
  Tensor probs, map;
};

class Router {
  /// The weights of a token's experts, which experts these are, and the scores from which both were
  /// made.
  struct Scored {
    Tensor probs, indices, scores, scores_for_routing, unused;
  };

 public:
  Router(const nn::Scope& scope, Rank& rank);
  /// Routes hidden states [sequence, batch, hidden].
  Routing operator()(const Tensor& x);

 private:
  Tensor gating(const Tensor& x);
  Routing topk(const Tensor& logits) const;
  Routing sinkhorn(const Tensor& logits) const;
  std::pair<Tensor, Tensor> chosen(const Tensor& scores) const;
  Scored by_softmax(const Tensor& logits) const;
  Scored by_sigmoid(const Tensor& logits) const;
  Routing dropped(const Routing& routing) const;
  void add_losses(const Tensor& logits, std::int64_t sequence, Tensor& probs);
  void add_loss(LossKind kind, const Tensor& scores, const Tensor& map, Tensor& probs);
  Tensor with_z_loss(const Tensor& logits);
  void track(LossKind kind, const Tensor& loss);

  Rank& rank_;
  const MoeArguments& moe_;
  Tensor weight_, bias_, expert_bias_, tokens_per_expert_;
  Tensor global_tokens_, steps_;  ///< for the global loss
};

}  // namespace memtape::megatron
