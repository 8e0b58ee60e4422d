// SPDX-License-Identifier: Apache-2.0
#include "family/deepseek.h"
#include "family/key_value_cache.h"

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/joins.h"

namespace memtape::family {
namespace {

std::pair<Tensor, Tensor> split_last(const Tensor& tensor, std::int64_t first,
                                     std::int64_t second) {
  const std::array lengths{first, second};
  std::vector<Tensor> pieces = tensor.split(lengths, -1);
  return {std::move(pieces[0]), std::move(pieces[1])};
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

LatentAttention::LatentAttention(const nn::Scope& scope, const DeepseekConfig& c,
                                 LatentRotation rotate)
    : Module(scope),
      call_(attention_call(c)),
      rotate_(rotate),
      qk_nope_head_dim_(c.qk_nope_head_dim),
      qk_rope_head_dim_(c.qk_rope_head_dim),
      kv_lora_rank_(c.kv_lora_rank),
      v_head_dim_(c.v_head_dim),
      queries_(scope, c),
      kv_a_proj_with_mqa_(scope / "kv_a_proj_with_mqa", c.hidden_size,
                          c.kv_lora_rank + c.qk_rope_head_dim, c.qkv_bias),
      kv_a_layernorm_(scope / "kv_a_layernorm", c.kv_lora_rank),
      kv_b_proj_(scope / "kv_b_proj", c.kv_lora_rank,
                 c.num_attention_heads * (c.qk_nope_head_dim + c.v_head_dim), false),
      o_proj_(scope / "o_proj", c.num_attention_heads * c.v_head_dim, c.hidden_size, c.o_bias) {}

LatentQueries::LatentQueries(const nn::Scope& scope, const DeepseekConfig& c) {
  const std::int64_t queries = c.num_attention_heads * c.qk_head_dim();
  if (!c.q_lora_rank) {
    q_proj_.emplace(scope / "q_proj", c.hidden_size, queries, false);
    return;
  }
  q_a_proj_.emplace(scope / "q_a_proj", c.hidden_size, *c.q_lora_rank, c.qkv_bias);
  q_a_layernorm_.emplace(scope / "q_a_layernorm", *c.q_lora_rank);
  q_b_proj_.emplace(scope / "q_b_proj", *c.q_lora_rank, queries, false);
}

Tensor LatentQueries::operator()(const Tensor& hidden_states) {
  if (q_proj_) return (*q_proj_)(hidden_states);
  return (*q_b_proj_)((*q_a_layernorm_)((*q_a_proj_)(hidden_states)));
}

std::pair<Tensor, Tensor> LatentAttention::expand_kv(const Tensor& latent,
                                                     const Tensor& given_k_rot) {
  const Dims key_shape{latent.size(0), latent.size(2), -1, qk_nope_head_dim_ + v_head_dim_};
  const Tensor kv_nope = kv_b_proj_(latent).view(key_shape).transpose(1, 2);
  auto [k_nope, value_states] = split_last(kv_nope, qk_nope_head_dim_, v_head_dim_);
  const Tensor k_rot = given_k_rot.expand(
      {given_k_rot.size(0), k_nope.size(1), given_k_rot.size(2), given_k_rot.size(3)});

  const std::int64_t qk_head_dim = qk_nope_head_dim_ + qk_rope_head_dim_;
  Tensor key_states;
  {
    const ghost::Op op("new_empty", {});
    key_states = ghost::empty(kv_nope.sizes().leading().with(qk_head_dim), kv_nope.dtype());
  }
  ghost::copy_into_last(key_states, 0, qk_nope_head_dim_, k_nope);
  ghost::copy_into_last(key_states, qk_nope_head_dim_, qk_head_dim, k_rot);
  return {std::move(key_states), std::move(value_states)};
}

Tensor LatentAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask,
                                const CosSin& position_embeddings) {
  const std::int64_t batch_size = hidden_states.size(0), seq_length = hidden_states.size(1);
  const Dims query_shape{batch_size, seq_length, -1, qk_nope_head_dim_ + qk_rope_head_dim_};
  const Tensor q_states = queries_(hidden_states).view(query_shape).transpose(1, 2);
  auto [q_pass, q_rot] = split_last(q_states, qk_nope_head_dim_, qk_rope_head_dim_);

  const Tensor compressed_kv = kv_a_proj_with_mqa_(hidden_states);
  auto [kv_nope, k_rot] = split_last(compressed_kv, kv_lora_rank_, qk_rope_head_dim_);
  kv_nope = kv_a_layernorm_(kv_nope).view({batch_size, 1, seq_length, kv_lora_rank_});
  k_rot = k_rot.view({batch_size, 1, seq_length, qk_rope_head_dim_});
  std::tie(q_rot, k_rot) = rotate_(q_rot, k_rot, position_embeddings);

  KeyValueCache::update(kv_nope, k_rot);  // held while still compressed
  const Tensor query_states = ghost::cat({q_pass, q_rot}, -1);
  auto [key_states, value_states] = expand_kv(kv_nope, k_rot);
  Tensor attn_output =
      attention_interface(call_, query_states, key_states, value_states, attention_mask);
  attn_output = attn_output.reshape({batch_size, seq_length, -1}).contiguous();
  return o_proj_(attn_output);
}

}  // namespace memtape::family
