// SPDX-License-Identifier: Apache-2.0
#include "family/parts/experts_loop.h"

#include <utility>

#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/reductions.h"
#include "release/transformers_changes.h"

namespace memtape::family {

ExpertsLoop::ExpertsLoop(const Tensor& hidden_states, const Picked& picked,
                         std::vector<std::int64_t> tokens_by_expert, const LoopStyle& style)
    : hidden_states_(hidden_states),
      top_k_weights_(picked.top_k_weights),
      tokens_(std::move(tokens_by_expert)),
      asks_each_(style.asks_each),
      copies_mask_(style.copies_mask),
      final_hidden_states_(ghost::zeros(hidden_states.sizes(), style.result)) {
  const ghost::GradMode no_grad(false);
  const auto experts = static_cast<std::int64_t>(tokens_.size());
  std::int64_t hits = 0;
  for (const std::int64_t count : tokens_) hits += count > 0 ? 1 : 0;
  const bool one_more = style.counts_one_more || ghost::has(changes::kExpertsLoopCountsOneMore);
  expert_mask_ =
      ghost::one_hot(picked.top_k_index, experts + (one_more ? 1 : 0)).permute({2, 1, 0});
  if (!style.finds_hit) return;
  const Tensor hit = ghost::gt(ghost::sum_last_two(expert_mask_), 0);
  expert_hit_ = ghost::nonzero(hit, hits);
}

bool ExpertsLoop::next() {
  const auto experts = static_cast<std::int64_t>(tokens_.size());
  const auto tokens = [this] { return tokens_[static_cast<std::size_t>(expert_idx_)]; };
  do ++expert_idx_;
  while (expert_idx_ < experts && tokens() == 0);
  if (expert_idx_ == experts) return false;
  ++hit_;
  if (asks_each_) ghost::eq(expert_hit_.select(0, hit_).select(0, 0), experts);
  const Tensor mask = copies_mask_ ? copied_mask() : expert_mask_.select(0, expert_idx_);
  const Tensor places = ghost::nonzero(mask, tokens());
  top_k_pos_ = places.select(1, 0);
  token_idx_ = places.select(1, 1);
  return true;
}

/// expert_mask[expert_idx].squeeze(0): the copy lies in memory as the mask does, by tokens.
Tensor ExpertsLoop::copied_mask() const {
  const Tensor by_tokens = ghost::index(expert_mask_.transpose(1, 2), expert_hit_.select(0, hit_));
  return by_tokens.squeeze(0).transpose(0, 1);
}

Tensor ExpertsLoop::current_state() const { return ghost::index(hidden_states_, token_idx_); }

Tensor ExpertsLoop::weights() const {
  return ghost::index_pairs(top_k_weights_.unsqueeze(-1), token_idx_, top_k_pos_);
}

void ExpertsLoop::add(const Tensor& current) const {
  ghost::index_add_(final_hidden_states_, token_idx_, current.to(final_hidden_states_.dtype()));
}

}  // namespace memtape::family
