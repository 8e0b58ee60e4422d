// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deepseek.h"
#include "family/caches/key_value_cache.h"

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

std::pair<Tensor, Tensor> split_last(const Tensor& tensor, std::int64_t first,
                                     std::int64_t second) {
  const std::array lengths{first, second};
  std::vector<Tensor> pieces = tensor.split(lengths, -1);
  return {std::move(pieces[0]), std::move(pieces[1])};
}

Tensor for_all_heads(const Tensor& k_rot, const Tensor& k_nope) {
  return k_rot.expand({k_rot.size(0), k_nope.size(1), k_rot.size(2), k_rot.size(3)});
}

}  // namespace

DeepseekConfig::DeepseekConfig(const Config& c, const ModelOptions& options,
                               const DecoderDefaults& defaults, const MoeDefaults& moe)
    : DeepseekMoeConfig(c, options, defaults, moe),
      kv_lora_rank(c.dimension("kv_lora_rank", 512)),
      qk_nope_head_dim(c.dimension("qk_nope_head_dim", 128)),
      qk_rope_head_dim(c.dimension("qk_rope_head_dim", 64)),
      v_head_dim(c.dimension("v_head_dim", 128)),
      q_lora_rank(c.has("q_lora_rank") ? c.optional_dimension("q_lora_rank") : 1536) {
  head_dim = qk_rope_head_dim;
  rope = rope_parameters(c, head_dim);
  qkv_bias = o_bias = c.boolean("attention_bias", false);
  if (qk_rope_head_dim % 2 != 0) c.fail("qk_rope_head_dim", "must be even");
  if (num_key_value_heads != num_attention_heads)
    c.fail("num_key_value_heads",
           "must equal num_attention_heads " + std::to_string(num_attention_heads));
}

LatentProjections::LatentProjections(const nn::Scope& scope, const DeepseekConfig& c)
    : qk_nope_head_dim_(c.qk_nope_head_dim),
      qk_rope_head_dim_(c.qk_rope_head_dim),
      kv_lora_rank_(c.kv_lora_rank),
      v_head_dim_(c.v_head_dim) {
  const std::int64_t heads = c.num_attention_heads, queries = heads * c.qk_head_dim();
  if (c.q_lora_rank) {
    q_a_proj_.emplace(scope / "q_a_proj", c.hidden_size, *c.q_lora_rank, c.qkv_bias);
    q_a_layernorm_.emplace(scope / "q_a_layernorm", *c.q_lora_rank);
    q_b_proj_.emplace(scope / "q_b_proj", *c.q_lora_rank, queries, false);
  } else {
    q_proj_.emplace(scope / "q_proj", c.hidden_size, queries, false);
  }
  kv_a_proj_with_mqa_.emplace(scope / "kv_a_proj_with_mqa", c.hidden_size,
                              c.kv_lora_rank + c.qk_rope_head_dim, c.qkv_bias);
  kv_a_layernorm_.emplace(scope / "kv_a_layernorm", c.kv_lora_rank);
  kv_b_proj_.emplace(scope / "kv_b_proj", c.kv_lora_rank,
                     heads * (c.qk_nope_head_dim + c.v_head_dim), false);
  o_proj_.emplace(scope / "o_proj", heads * c.v_head_dim, c.hidden_size, c.o_bias);
}

Tensor LatentProjections::query_latent(const Tensor& hidden_states) {
  return (*q_a_layernorm_)((*q_a_proj_)(hidden_states));
}

Tensor LatentProjections::queries(const Tensor& hidden_states) {
  return q_proj_ ? (*q_proj_)(hidden_states) : (*q_b_proj_)(query_latent(hidden_states));
}

LatentStates LatentProjections::split(const In& queries, const Tensor& hidden_states) {
  LatentStates s;
  s.q_states = queries
                   ->view({hidden_states.size(0), hidden_states.size(1), -1,
                           qk_nope_head_dim_ + qk_rope_head_dim_})
                   .transpose(1, 2);
  std::tie(s.q_pass, s.q_rot) = split_last(s.q_states, qk_nope_head_dim_, qk_rope_head_dim_);
  s.compressed_kv = (*kv_a_proj_with_mqa_)(hidden_states);
  std::tie(s.kv_nope, s.k_rot) = split_last(s.compressed_kv, kv_lora_rank_, qk_rope_head_dim_);
  return s;
}

Tensor LatentProjections::norm_latent(const Tensor& latent) {
  return (*kv_a_layernorm_)(latent).view({latent.size(0), 1, latent.size(1), kv_lora_rank_});
}

LatentStates LatentProjections::project(const In& queries, const Tensor& hidden_states) {
  LatentStates s = split(queries, hidden_states);
  s.kv_nope = norm_latent(s.kv_nope);
  s.k_rot = s.k_rot.view({hidden_states.size(0), 1, hidden_states.size(1), qk_rope_head_dim_});
  return s;
}

ExpandedLatent LatentProjections::expand(const In& latent, std::int64_t seq_length) {
  const Dims key_shape{latent->size(0), seq_length, -1, qk_nope_head_dim_ + v_head_dim_};
  ExpandedLatent heads;
  heads.both = (*kv_b_proj_)(latent).view(key_shape).transpose(1, 2);
  std::tie(heads.k_nope, heads.value_states) =
      split_last(heads.both, qk_nope_head_dim_, v_head_dim_);
  return heads;
}

std::pair<Tensor, Tensor> LatentProjections::expand_kv(const Tensor& latent,
                                                       const Tensor& given_k_rot) {
  const auto [kv_nope, k_nope, value_states] = expand(latent, latent.size(2));
  const Tensor k_rot = for_all_heads(given_k_rot, k_nope);

  const std::int64_t qk_head_dim = qk_nope_head_dim_ + qk_rope_head_dim_;
  Tensor key_states;
  {
    const ghost::Op op("new_empty", {});
    key_states = ghost::empty(kv_nope.sizes().leading().with(qk_head_dim), kv_nope.dtype());
  }
  ghost::copy_into_last(key_states, 0, qk_nope_head_dim_, k_nope);
  ghost::copy_into_last(key_states, qk_nope_head_dim_, qk_head_dim, k_rot);
  return {std::move(key_states), value_states};
}

std::pair<Tensor, Tensor> LatentProjections::joined(const ExpandedLatent& heads,
                                                    const Tensor& k_rot) {
  return {ghost::cat({heads.k_nope, k_rot}, -1), heads.value_states};
}

LatentAttention::LatentAttention(const nn::Scope& scope, const DeepseekConfig& c,
                                 LatentRotation rotate, QueryScaling scale)
    : Module(scope), call_(attention_call(c)), rotate_(rotate), scale_(scale), latent_(scope, c) {
  if (c.gates_heads) g_proj_.emplace(scope / "g_proj", c.hidden_size, c.num_attention_heads, false);
}

Tensor LatentAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask,
                                const CosSin& position_embeddings) {
  const bool caches_latent = ghost::has(changes::kLatentIsCached);
  LatentStates states = latent_.project(latent_.queries(hidden_states), hidden_states);
  ExpandedLatent heads;
  if (!caches_latent) heads = latent_.expand(std::move(states.kv_nope), hidden_states.size(1));
  std::tie(states.q_rot, states.k_rot) = rotate_(states.q_rot, states.k_rot, position_embeddings);
  if (caches_latent) KeyValueCache::update(states.kv_nope, states.k_rot);
  if (!caches_latent) states.k_rot = for_all_heads(states.k_rot, heads.k_nope);
  Tensor query_states = ghost::cat({states.q_pass, states.q_rot}, -1);
  if (scale_) query_states = scale_(query_states);
  auto [key_states, value_states] = caches_latent ? latent_.expand_kv(states.kv_nope, states.k_rot)
                                                  : LatentProjections::joined(heads, states.k_rot);
  if (!caches_latent) KeyValueCache::update(key_states, value_states);
  Tensor attn_output =
      attention_interface(call_, query_states, key_states, value_states, attention_mask);
  Tensor gate;
  if (g_proj_) {
    gate = ghost::sigmoid((*g_proj_)(hidden_states).to_float()).to(hidden_states.dtype());
    attn_output = attn_output.mul(gate.unsqueeze(-1));
  }
  attn_output = attn_output.reshape(hidden_states.sizes().leading().with(-1)).contiguous();
  return latent_.project_output(attn_output);
}

}  // namespace memtape::family
