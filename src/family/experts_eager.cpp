// SPDX-License-Identifier: Apache-2.0
// experts_implementation "eager": the forward that each class of experts has itself, a loop over
// the experts that were hit. Each one's sizes are those of its tokens, and each takes its weights
// out of the stack, so that backward makes zeros of the whole stack per expert.
#include <utility>

#include "family/experts.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

/// Two routers' numbers per token, [T, k].
struct Picked {
  const Tensor& top_k_index;
  const Tensor& top_k_weights;
};

/// How a loop differs from MixtralExperts'.
struct LoopStyle {
  DType result;
  bool asks_each =
      true;  ///< `expert_idx == self.num_experts` makes a tensor; NemotronH has numbers
};

/// for expert_idx in expert_hit: which tokens it has, and where their results are added.
class ExpertsLoop {
 public:
  ExpertsLoop(const Tensor& hidden_states, const Picked& picked,
              std::vector<std::int64_t> tokens_by_expert, const LoopStyle& style)
      : hidden_states_(hidden_states),
        top_k_weights_(picked.top_k_weights),
        tokens_(std::move(tokens_by_expert)),
        asks_each_(style.asks_each),
        final_hidden_states_(ghost::zeros(hidden_states.sizes(), style.result)) {
    const ghost::GradMode no_grad(false);
    const auto experts = static_cast<std::int64_t>(tokens_.size());
    std::int64_t hits = 0;
    for (const std::int64_t count : tokens_) hits += count > 0 ? 1 : 0;
    expert_mask_ = ghost::one_hot(picked.top_k_index, experts).permute({2, 1, 0});
    const Tensor hit = ghost::comparison("gt", ghost::sum_last_two(expert_mask_));
    expert_hit_ = ghost::nonzero(hit, hits);
  }

  /// Goes to the next expert that has tokens.
  bool next() {
    while (expert_ < tokens_.size() && tokens_[expert_] == 0) ++expert_;
    if (expert_ == tokens_.size()) return false;
    if (asks_each_) ghost::comparison("eq", expert_hit_.select(0).select(0));
    const Tensor places = ghost::nonzero(expert_mask_.select(0), tokens_[expert_++]);
    top_k_pos_ = places.select(1);
    token_idx_ = places.select(1);
    return true;
  }

  Tensor current_state() const { return ghost::index(hidden_states_, token_idx_); }
  Tensor weights() const { return ghost::index_pairs(top_k_weights_, token_idx_, top_k_pos_); }
  void add(const Tensor& current) const {
    ghost::index_add_(final_hidden_states_, token_idx_, current.to(final_hidden_states_.dtype()));
  }
  const Tensor& final_hidden_states() const { return final_hidden_states_; }

 private:
  const Tensor& hidden_states_;
  const Tensor& top_k_weights_;
  std::vector<std::int64_t> tokens_;
  bool asks_each_;
  std::size_t expert_ = 0;
  Tensor final_hidden_states_, expert_mask_, expert_hit_, top_k_pos_, token_idx_;
};

}  // namespace

Tensor Experts::eager_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                              const Tensor& top_k_weights) {
  const LoopStyle style{.result = layout_.has_gate ? hidden_states.dtype() : top_k_weights.dtype(),
                        .asks_each = layout_.has_gate};
  ExpertsLoop loop(hidden_states, {top_k_index, top_k_weights},
                   load_.by_expert({hidden_states.size(0), top_k_index.size(-1), num_experts_}),
                   style);
  // Locals of the Python loop: they live until the next expert's take their names.
  Tensor current_state, gate, up, current, out;
  while (loop.next()) {
    if (layout_.has_bias) {  // GptOssExperts
      current_state = loop.current_state();
      gate = current_state.matmul(gate_up_.weight.select(0)).add(gate_up_.bias.select(0));
      up = layout_.apply_gate(gate, act_fn_);
      out = up.matmul(down_.weight.select(0)).add(down_.bias.select(0));
      current = out.mul(loop.weights());
    } else if (!layout_.has_gate) {  // NemotronHExperts
      current_state = loop.current_state();
      current = ghost::linear(current_state, gate_up_.weight.select(0), {});
      current = act_fn_(current);
      current = ghost::linear(current, down_.weight.select(0), {});
      current = current.mul(loop.weights());
    } else if (layout_.apply_gate != ExpertsLayout::default_apply_gate) {  // DeepseekV4Experts
      current = layout_.apply_gate(
          ghost::linear(loop.current_state(), gate_up_.weight.select(0), {}), act_fn_);
      current = ghost::linear(current, down_.weight.select(0), {}).mul(loop.weights());
    } else {  // MixtralExperts
      current_state = loop.current_state();
      std::vector<Tensor> halves =
          ghost::linear(current_state, gate_up_.weight.select(0), {}).chunk(2, -1);
      gate = std::move(halves[0]);
      up = std::move(halves[1]);
      current = act_fn_(gate).mul(up);
      current = ghost::linear(current, down_.weight.select(0), {});
      current = current.mul(loop.weights());
    }
    loop.add(current);
  }
  return loop.final_hidden_states().to(hidden_states.dtype());
}

}  // namespace memtape::family
