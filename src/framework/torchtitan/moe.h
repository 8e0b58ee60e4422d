// SPDX-License-Identifier: Apache-2.0
// torchtitan's mixture of experts (models/moe/moe.py of release 0.2.0): a router that chooses by
// biased scores, tokens in the order of their experts, one grouped product for each weight, and
// outputs that are added to those of the shared experts.
//
// No size depends on how many tokens an expert gets, because rows are padded for the worst case.
// There is one exception: if ranks share the experts (ExpertParallel of
// distributed/expert_parallel.py), as many rows arrive as the router sends.
#pragma once

#include <optional>

#include "model/config.h"
#include "model/expert_load.h"
#include "nn/layers.h"

namespace memtape::torchtitan {

using ghost::Tensor;

struct MoeArgs {
  std::int64_t num_experts, num_shared_experts, top_k, hidden_dim;
  bool by_sigmoid = false;  ///< score_func; if false, it is softmax
  bool route_norm = false;
  bool score_before_experts = false;
  std::int64_t expert_parallel = 1;  ///< the number of ranks that share the experts
  ExpertLoad load = {};
};

/// The arguments for model_types that are mixtures of experts.
MoeArgs read_moe_args(const Config& config);

class FeedForward : public nn::Module<FeedForward> {
 public:
  FeedForward(const nn::Scope& scope, std::int64_t dim, std::int64_t hidden_dim);
  Tensor forward(const Tensor& x);

 private:
  nn::Linear w1_, w2_, w3_;
};

class GroupedExperts : public nn::Module<GroupedExperts> {
 public:
  GroupedExperts(const nn::Scope& scope, std::int64_t dim, const MoeArgs& args);
  Tensor forward(const Tensor& x, const Tensor& num_tokens_per_expert);
  /// ExpertParallel._partition_fn: each rank gets equally many experts.
  void share();
  /// TensorParallel._partition_fn: each rank gets one of `parts` pieces of each expert.
  void cut(std::int64_t parts, std::int64_t index);
  /// The first use of the output waits for it, and then frees what was sent.
  void wait() { sent_.reset(); }

 private:
  Tensor forward_shared(const Tensor& x, const Tensor& num_tokens_per_expert);

  MoeArgs args_;
  Tensor w1_, w2_, w3_;
  Tensor permuted_indices_;  ///< an attribute, which the next dispatch replaces
  Tensor sent_;
};

/// The members are in reverse order: C++ frees the last one first, and Python frees its locals in
/// their order.
struct TokenChoice {
  Tensor num_tokens_per_expert, selected_experts_indices, top_scores;
};

class TokenChoiceTopKRouter : public nn::Module<TokenChoiceTopKRouter> {
 public:
  TokenChoiceTopKRouter(const nn::Scope& scope, std::int64_t dim, const MoeArgs& args);
  TokenChoice forward(const Tensor& x, const Tensor& expert_bias);

 private:
  MoeArgs args_;
  nn::Linear gate_;
};

class MoE : public nn::Module<MoE> {
 public:
  MoE(const nn::Scope& scope, std::int64_t dim, const MoeArgs& args);
  Tensor forward(const Tensor& x);
  std::int64_t num_experts() const { return args_.num_experts; }
  GroupedExperts& experts() { return experts_; }
  /// ReordererSequenceParallel: this GPU reorders one of `parts` parts of the tokens.
  void reorder_slices(std::int64_t parts) { slices_ = parts; }
  /// Makes the buffers anew on the device.
  void init_weights();

 private:
  MoeArgs args_;
  GroupedExperts experts_;
  TokenChoiceTopKRouter router_;
  std::optional<FeedForward> shared_experts_;
  Tensor expert_bias_, tokens_per_expert_;
  std::int64_t slices_ = 1;
};

}  // namespace memtape::torchtitan
