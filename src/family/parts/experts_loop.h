// SPDX-License-Identifier: Apache-2.0
// ExpertsLoop: the loop `for expert_idx in expert_hit` of classes whose experts run one after the
// other. It knows which tokens each expert has and where its results are added
// (MixtralExperts.forward of transformers 5.17 models/mixtral/modeling_mixtral.py).
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::family {

/// What a router returns for each token, [T, k].
struct Picked {
  const Tensor& top_k_index;
  const Tensor& top_k_weights;
};

/// How a loop differs from that of MixtralExperts.
struct LoopStyle {
  DType result;
  bool asks_each = true;         ///< `expert_idx == self.num_experts` makes a tensor
  bool finds_hit = true;         ///< the experts that have tokens are found first, as expert_hit
  bool copies_mask = false;      ///< expert_mask[expert_idx] is taken by a tensor of one number
  bool counts_one_more = false;  ///< a further expert has tokens, though no release asks for it
};

class ExpertsLoop {
 public:
  ExpertsLoop(const Tensor& hidden_states, const Picked& picked,
              std::vector<std::int64_t> tokens_by_expert, const LoopStyle& style);

  /// Goes to the next expert that has tokens.
  bool next();
  /// The expert at work.
  std::int64_t expert_idx() const { return expert_idx_; }
  /// The same as a row of expert_hit, and its tokens.
  Tensor expert_row() const { return expert_hit_.select(0, hit_); }
  const Tensor& token_idx() const { return token_idx_; }
  Tensor current_state() const;
  Tensor weights() const;
  void add(const Tensor& current) const;
  const Tensor& final_hidden_states() const { return final_hidden_states_; }

 private:
  Tensor copied_mask() const;

  const Tensor& hidden_states_;
  const Tensor& top_k_weights_;
  std::vector<std::int64_t> tokens_;
  bool asks_each_, copies_mask_;
  std::int64_t expert_idx_ = -1;  ///< the expert at work
  std::int64_t hit_ = -1;         ///< its row in expert_hit
  Tensor final_hidden_states_, expert_mask_, expert_hit_, top_k_pos_, token_idx_;
};

}  // namespace memtape::family
