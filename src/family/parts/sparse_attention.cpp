// SPDX-License-Identifier: Apache-2.0
#include "family/parts/sparse_attention.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "family/caches/key_value_cache.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/views.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {

SparseAttentionConfig::SparseAttentionConfig(const Config& c, const ModelOptions& options,
                                             const DecoderDefaults& defaults,
                                             const MoeDefaults& moe)
    : DeepseekConfig(c, options, defaults, moe),
      index_topk(c.dimension("index_topk", 2048)),
      index_head_dim(c.dimension("index_head_dim", 128)),
      index_n_heads(c.dimension("index_n_heads", 64)),
      mlp_layer_types(c.texts("mlp_layer_types")) {
  norm_topk_prob = c.boolean("norm_topk_prob", true);
  first_k_dense_replace = c.count("first_k_dense_replace", 3);
  n_shared_experts = c.dimension("n_shared_experts", 1);
  float32_correction_bias = true;
  if (index_head_dim < qk_rope_head_dim)
    c.fail("index_head_dim",
           "must be at least qk_rope_head_dim " + std::to_string(qk_rope_head_dim));
  if (!q_lora_rank) c.fail("q_lora_rank", "must be an integer of 1 or more, found null");
  const auto layers = static_cast<std::size_t>(num_hidden_layers);
  if (!mlp_layer_types.empty() && mlp_layer_types.size() < layers)
    c.fail("mlp_layer_types", "must name " + std::to_string(layers) + " layers, names " +
                                  std::to_string(mlp_layer_types.size()));
}

LayerMasks create_sparse_attention_mask(const SparseAttentionConfig& config,
                                        const Tensor& attention_mask, const Tensor& inputs_embeds,
                                        const Tensor& position_ids) {
  const MaskRequest request{
      .attention = config.attention,
      .attention_mask = attention_mask,
      .allow_is_causal_skip = !ghost::has(changes::kSparseAttentionForcesItsMask)};
  return {.full_attention = create_causal_mask(request, inputs_embeds, position_ids),
          .sliding_attention = {}};
}

namespace {

/// Which of `positions` lie after which, [1, S, S].
Tensor later(const Tensor& positions) {
  return ghost::gt(positions.unsqueeze(0).unsqueeze(0), positions.unsqueeze(0).unsqueeze(2));
}

}  // namespace

Indexer::Indexer(const nn::Scope& scope, const SparseAttentionConfig& c)
    : Module(scope),
      n_heads_(c.index_n_heads),
      head_dim_(c.index_head_dim),
      rope_head_dim_(c.qk_rope_head_dim),
      topk_(c.index_topk),
      rotates_pairs_(c.index_rotates_pairs),
      wq_b_(scope / "wq_b", *c.q_lora_rank, c.index_n_heads * c.index_head_dim, false),
      wk_(scope / "wk", c.hidden_size, c.index_head_dim, false),
      k_norm_(scope / "k_norm", c.index_head_dim),
      weights_proj_(scope / "weights_proj", c.hidden_size, c.index_n_heads, false) {}

Tensor Indexer::forward(const Tensor& hidden_states, const Tensor& q_resid,
                        const CosSin& position_embeddings, const Tensor& attention_mask) {
  const ghost::GradMode no_grad(false);
  const Dims heads = q_resid.sizes().leading().with(n_heads_).with(head_dim_);
  const std::array parts{rope_head_dim_, head_dim_ - rope_head_dim_};
  Tensor q = wq_b_(q_resid).view(heads);
  const std::vector<Tensor> q_parts = q.split(parts, -1);
  Tensor k = k_norm_(wk_(hidden_states)).unsqueeze(2);
  const std::vector<Tensor> k_parts = k.split(parts, -1);
  const auto rotate =
      rotates_pairs_ ? apply_rotary_pos_emb_interleave_along : apply_rotary_pos_emb_along;
  const auto [q_rot, k_rot] = rotate(q_parts[0], k_parts[0], position_embeddings, 2);
  q = ghost::cat({q_rot, q_parts[1]}, -1);
  k = ghost::cat({k_rot, k_parts[1]}, -1).squeeze(2);

  Tensor scores = q.to_float().matmul(k.transpose(-1, -2).to_float().unsqueeze(1)).mul(0.5);
  scores = ghost::relu(scores);
  const Tensor weights =
      weights_proj_(hidden_states.to(weights_proj_.weight.dtype())).to_float().mul(ghost::kScale);
  Tensor index_scores = weights.unsqueeze(-2).matmul(scores).squeeze(-2);
  Tensor key_positions, causal;
  if (!attention_mask.defined()) {
    key_positions = ghost::arange(index_scores.size(-1), DType::int64);
    causal = later(key_positions);
    index_scores = ghost::masked_fill(index_scores, causal, ghost::kLowest);
  } else if (attention_mask.dtype() == DType::boolean)
    index_scores =
        ghost::masked_fill(index_scores, ghost::bitwise_not(attention_mask), ghost::kLowest);
  else
    index_scores = index_scores.add(attention_mask);
  Tensor indices = ghost::topk(index_scores, std::min(topk_, index_scores.size(-1))).second;
  return std::move(indices).to(DType::int32);
}

SparseAttention::SparseAttention(const nn::Scope& scope, const SparseAttentionConfig& c,
                                 bool has_indexer)
    : Module(scope), call_(attention_call(c)), latent_(scope, c) {
  if (has_indexer) indexer_.emplace(scope / "indexer", c);
}

ChosenMask mask_of_choice(const Tensor& topk_indices, const Tensor& given_mask,
                          const Tensor& hidden_states, std::int64_t keys) {
  Tensor attention_mask = given_mask, index_mask, key_positions;
  {
    const Tensor ones = ghost::ones(topk_indices.sizes().leading().with(keys), DType::boolean);
    const Tensor as_long = topk_indices.to(DType::int64);
    index_mask = ghost::scatter_number(ones, as_long).unsqueeze(1);
  }
  if (!attention_mask.defined()) {
    key_positions = ghost::arange(keys, DType::int64);
    index_mask = ghost::bitwise_or(index_mask, later(key_positions).unsqueeze(1));
    attention_mask = ghost::zeros(index_mask.sizes(), hidden_states.dtype());
  }
  if (attention_mask.dtype() != DType::boolean)
    attention_mask = ghost::masked_fill(attention_mask, index_mask, ghost::kLowest);
  else
    attention_mask = ghost::bitwise_and(attention_mask, ghost::bitwise_not(index_mask));
  return {std::move(attention_mask), std::move(index_mask), std::move(key_positions)};
}

Tensor SparseAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask,
                                const CosSin& position_embeddings, Tensor& topk_indices) {
  if (KeyValueCache::passed()) {
    ghost::session().fail({ErrorKind::unsupported, "the indexer's cache of sparse attention",
                           "generate", "training steps are predicted"});
    return hidden_states;
  }
  const Tensor q_resid = latent_.query_latent(hidden_states);
  LatentStates states = latent_.project(latent_.expand_queries(q_resid), hidden_states);
  const bool expands_late = ghost::has(changes::kLatentIsCached);
  ExpandedLatent heads;
  if (!expands_late) heads = latent_.expand(std::move(states.kv_nope), hidden_states.size(1));
  std::tie(states.q_rot, states.k_rot) =
      apply_rotary_pos_emb_interleave(states.q_rot, states.k_rot, position_embeddings);
  const Tensor query_states = ghost::cat({states.q_pass, states.q_rot}, -1);
  const auto [key_states, value_states] = expands_late
                                              ? latent_.expand_kv(states.kv_nope, states.k_rot)
                                              : LatentProjections::joined(heads, states.k_rot);
  if (indexer_)
    topk_indices = (*indexer_)(hidden_states, q_resid, position_embeddings,
                               attention_mask.defined() ? attention_mask.select(1, 0) : Tensor());
  const ChosenMask mask =
      mask_of_choice(topk_indices, attention_mask, hidden_states, key_states.size(2));
  const Tensor attn_output =
      attention_interface(call_, query_states, key_states, value_states, mask.attention_mask)
          .reshape(hidden_states.sizes().leading().with(-1))
          .contiguous();
  return latent_.project_output(attn_output);
}

}  // namespace memtape::family
