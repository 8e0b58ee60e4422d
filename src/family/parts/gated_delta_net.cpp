// SPDX-License-Identifier: Apache-2.0
#include "family/parts/gated_delta_net.h"

#include <array>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/parts/config_checks.h"
#include "family/parts/delta_rule_by_rows.h"
#include "family/parts/mamba2_mixer.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/scan.h"
#include "ghost/ops/softplus.h"
#include "ghost/ops/to_packed.h"
#include "ghost/ops/triangular.h"
#include "ghost/ops/views.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

constexpr std::int64_t kDeltaChunk = 64;

Tensor fused_by_head(const Tensor& x) {
  return ghost::to_packed(x.transpose(1, 2), DType::float32);
}

/// The arguments of torch_chunk_gated_delta_rule, and its locals of the same names.
struct ChunkGatedDeltaRule {
  Tensor query, key, value, decay, beta;
  Tensor last_recurrent_state = {};
  Tensor v_beta = {}, k_beta = {}, cum_decay = {}, intra_chunk_attn = {}, decayed_k_beta = {},
         new_values = {}, k_cumdecay = {}, chunk_decay = {}, v_new = {}, inter_chunk_attn = {};

  /// Queries and keys for every value head.
  void repeat_heads(std::int64_t repeats);
  /// `keeps_state`: output_final_state.
  Tensor run(bool keeps_state);
  /// torch_recurrent_gated_delta_rule, of one token.
  Tensor run_step();

 private:
  void prepare();
  void pad_and_scale();
  Tensor scan();
};

void ChunkGatedDeltaRule::repeat_heads(std::int64_t repeats) {
  if (repeats == 1) return;
  query = ghost::repeat_interleave(query, repeats, 2);
  key = ghost::repeat_interleave(key, repeats, 2);
}

/// float32, [B, H, S, ...], queries and keys normalized.
void ChunkGatedDeltaRule::prepare() {
  {
    Tensor q = fused_by_head(query), k = fused_by_head(key), v = fused_by_head(value),
           b = fused_by_head(beta);
    decay = fused_by_head(decay);
    query = std::move(q);
    key = std::move(k);
    value = std::move(v);
    beta = std::move(b);
  }
  query = l2norm(query);
  key = l2norm(key);
  query = query.mul(ghost::kScale);
}

void ChunkGatedDeltaRule::pad_and_scale() {
  const std::int64_t pad_size = (kDeltaChunk - query.size(2) % kDeltaChunk) % kDeltaChunk;
  {
    Tensor q = ghost::pad(query, 2, 0, pad_size), k = ghost::pad(key, 2, 0, pad_size);
    value = ghost::pad(value, 2, 0, pad_size);
    query = std::move(q);
    key = std::move(k);
  }
  {
    Tensor b = ghost::pad(beta, 2, 0, pad_size);
    decay = ghost::pad(decay, 2, 0, pad_size);
    beta = std::move(b);
  }
  v_beta = value.mul(beta.unsqueeze(-1));
  k_beta = key.mul(beta.unsqueeze(-1));
  const auto chunked = [](const Tensor& x) {
    return x.reshape({x.size(0), x.size(1), -1, kDeltaChunk, x.size(-1)});
  };
  query = chunked(query);
  key = chunked(key);
  k_beta = chunked(k_beta);
  v_beta = chunked(v_beta);
  decay = decay.reshape({decay.size(0), decay.size(1), -1, kDeltaChunk});
}

/// The sequential scan over chunks.
Tensor ChunkGatedDeltaRule::scan() {
  if (!last_recurrent_state.defined())
    last_recurrent_state =
        ghost::zeros({key.size(0), key.size(1), key.size(-1), value.size(-1)}, new_values.dtype());
  Tensor core_attn_out = ghost::zeros_like(new_values);
  query = query.mul(ghost::exp(cum_decay).unsqueeze(-1));
  key = key.mul(
      ghost::exp(cum_decay.slice(-1, kDeltaChunk - 1, kDeltaChunk).sub(cum_decay)).unsqueeze(-1));
  chunk_decay = ghost::exp(cum_decay.select(3, -1)).unsqueeze(-1).unsqueeze(-1);
  const std::int64_t num_chunks = query.size(2);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    v_new = new_values.select(2, i).sub(k_cumdecay.select(2, i).matmul(last_recurrent_state));
    inter_chunk_attn = query.select(2, i).matmul(last_recurrent_state);
    ghost::copy_into(core_attn_out, core_attn_out.select(2, i),
                     inter_chunk_attn.add(intra_chunk_attn.select(2, i).matmul(v_new)));
    last_recurrent_state = last_recurrent_state.mul(chunk_decay.select(2, i))
                               .add(key.select(2, i).transpose(-1, -2).matmul(v_new));
  }
  return core_attn_out;
}

Tensor ChunkGatedDeltaRule::run(bool keeps_state) {
  const DType initial_dtype = query.dtype();
  const std::int64_t sequence_length = key.size(1);
  prepare();
  pad_and_scale();
  const Tensor strictly_upper_mask =
      ghost::triu(ghost::ones({kDeltaChunk, kDeltaChunk}, DType::boolean), 1);
  cum_decay = ghost::cumsum(decay, 3);
  Tensor pairwise_decay = cum_decay.unsqueeze(4).sub(cum_decay.unsqueeze(3));
  pairwise_decay = ghost::masked_fill(pairwise_decay, strictly_upper_mask, ghost::kLowest);
  pairwise_decay = ghost::exp(pairwise_decay);
  const Tensor ut_system = k_beta.matmul(key.transpose(-1, -2)).mul(pairwise_decay);
  intra_chunk_attn = query.matmul(key.transpose(-1, -2)).mul(pairwise_decay);
  decayed_k_beta = k_beta.mul(ghost::exp(cum_decay).unsqueeze(-1));
  new_values = ghost::solve_unit_lower_triangular(ut_system, v_beta);
  k_cumdecay = ghost::solve_unit_lower_triangular(ut_system, decayed_k_beta);

  const Dims padded_output_shape{key.size(0), key.size(1), -1, value.size(-1)};
  Tensor core_attn_out = scan();
  if (!keeps_state) last_recurrent_state.reset();
  core_attn_out = core_attn_out.reshape(padded_output_shape);
  core_attn_out = core_attn_out.slice(2, 0, sequence_length);
  return ghost::to_packed(core_attn_out.transpose(1, 2), initial_dtype);
}

Tensor ChunkGatedDeltaRule::run_step() {
  const DType initial_dtype = query.dtype();
  prepare();
  last_recurrent_state = last_recurrent_state.to(value.dtype());
  Tensor core_attn_out = ghost::zeros_like(value);
  const Tensor q_t = query.select(2, 0), k_t = key.select(2, 0), v_t = value.select(2, 0);
  const Tensor decay_t = ghost::exp(decay.select(2, 0)).unsqueeze(-1).unsqueeze(-1);
  last_recurrent_state = last_recurrent_state.mul(decay_t);
  const Tensor beta_t = beta.select(2, 0).unsqueeze(-1);
  const Tensor kv_mem = last_recurrent_state.mul(k_t.unsqueeze(-1)).sum(-2);
  const Tensor delta = v_t.sub(kv_mem).mul(beta_t);
  last_recurrent_state = last_recurrent_state.add(k_t.unsqueeze(-1).mul(delta.unsqueeze(-2)));
  {
    const Tensor attended = last_recurrent_state.mul(q_t.unsqueeze(-1)).sum(-2);
  }
  return core_attn_out.transpose(1, 2).contiguous().to(initial_dtype);
}

struct Shape {
  std::int64_t in, out;
};

std::optional<nn::Linear> projection(bool wanted, const nn::Scope& scope, const char* name,
                                     const Shape& shape) {
  if (!wanted) return std::nullopt;
  return std::optional<nn::Linear>(std::in_place, scope / name, shape.in, shape.out, false);
}

}  // namespace

GatedDeltaNetConfig::GatedDeltaNetConfig(const Config& c, std::int64_t hidden,
                                         const nn::Activation& act, const DeltaNetHeads& heads)
    : hidden_size(hidden),
      num_k_heads(c.dimension("linear_num_key_heads", heads.keys)),
      num_v_heads(c.dimension("linear_num_value_heads", heads.values)),
      head_k_dim(c.dimension("linear_key_head_dim", 128)),
      head_v_dim(c.dimension("linear_value_head_dim", 128)),
      conv_kernel_size(c.dimension("linear_conv_kernel_dim", 4)),
      activation(act) {
  check_divides(c, "linear_num_key_heads", num_k_heads, num_v_heads);
}

NormThenGate::NormThenGate(const nn::Scope& scope, std::int64_t size, bool weighs_in_float32)
    : Module(scope),
      weighs_in_float32_(weighs_in_float32),
      weight_(scope.parameter("weight", {size})) {}

Tensor NormThenGate::forward(const Tensor& x, const Tensor& gate) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  hidden_states = weighs_in_float32_ ? weight_.to_float().mul(hidden_states)
                                     : weight_.mul(hidden_states.to(input_dtype));
  hidden_states = hidden_states.mul(ghost::silu(gate.to_float()));
  return hidden_states.to(input_dtype);
}

GatedDeltaNet::GatedDeltaNet(const nn::Scope& scope, const GatedDeltaNetConfig& c)
    : Module(scope),
      config_(c),
      conv1d_(scope / "conv1d", Dims{c.conv_dim(), 1, c.conv_kernel_size}, false),
      in_proj_qkvz_(projection(c.joint_projections, scope, "in_proj_qkvz",
                               {c.hidden_size, 2 * c.key_dim() + 2 * c.value_dim()})),
      in_proj_ba_(
          projection(c.joint_projections, scope, "in_proj_ba", {c.hidden_size, 2 * c.num_v_heads})),
      dt_bias_(scope.parameter("dt_bias", {c.num_v_heads})),
      uniform_(ghost::zeros({c.num_v_heads}, scope.dtype())),
      a_log_(scope.parameter("A_log", {c.num_v_heads})),
      norm_(scope / "norm", c.head_v_dim, c.weighs_in_float32),
      out_proj_(scope / "out_proj", c.value_dim(), c.hidden_size, false),
      in_proj_qkv_(
          projection(!c.joint_projections, scope, "in_proj_qkv", {c.hidden_size, c.conv_dim()})),
      in_proj_z_(
          projection(!c.joint_projections, scope, "in_proj_z", {c.hidden_size, c.value_dim()})),
      in_proj_b_(
          projection(!c.joint_projections, scope, "in_proj_b", {c.hidden_size, c.num_v_heads})),
      in_proj_a_(
          projection(!c.joint_projections, scope, "in_proj_a", {c.hidden_size, c.num_v_heads})) {
  uniform_.reset();
}

/// _init_weights: uniform_().log_() of a new tensor.
void GatedDeltaNet::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  ghost::zeros({config_.num_v_heads}, a_log_.dtype());
}

GatedDeltaNet::Projected GatedDeltaNet::project(const Tensor& x) {
  Projected p;
  p.mixed_qkv = (*in_proj_qkv_)(x).transpose(1, 2);
  p.z = (*in_proj_z_)(x);
  p.z = p.z.reshape({x.size(0), x.size(1), -1, config_.head_v_dim});
  p.b = (*in_proj_b_)(x);
  p.a = (*in_proj_a_)(x);
  return p;
}

/// With fix_query_key_value_ordering: the projections lie key head by key head.
GatedDeltaNet::Projected GatedDeltaNet::project_jointly(const Tensor& x) {
  const GatedDeltaNetConfig& c = config_;
  const std::int64_t batch = x.size(0), seq = x.size(1), values = c.heads_per_key() * c.head_v_dim;
  Projected p;
  p.states_qkvz = (*in_proj_qkvz_)(x);
  p.states_ba = (*in_proj_ba_)(x);
  {
    const std::array<std::int64_t, 4> of_qkvz{c.head_k_dim, c.head_k_dim, values, values};
    const std::array<std::int64_t, 2> of_ba{c.heads_per_key(), c.heads_per_key()};
    const std::vector<Tensor> qkvz =
        p.states_qkvz.view({batch, seq, c.num_k_heads, -1}).split(of_qkvz, 3);
    const std::vector<Tensor> ba =
        p.states_ba.view({batch, seq, c.num_k_heads, -1}).split(of_ba, 3);
    p.query = qkvz[0];
    p.key = qkvz[1];
    p.value = qkvz[2].reshape({batch, seq, -1, c.head_v_dim});
    p.z = qkvz[3].reshape({batch, seq, -1, c.head_v_dim});
    p.b = ba[0].reshape({batch, seq, c.num_v_heads});
    p.a = ba[1].reshape({batch, seq, c.num_v_heads});
  }
  p.query = p.query.reshape({batch, seq, -1});
  p.key = p.key.reshape({batch, seq, -1});
  p.value = p.value.reshape({batch, seq, -1});
  p.mixed_qkv = ghost::cat({p.query, p.key, p.value}, -1);
  p.mixed_qkv = p.mixed_qkv.transpose(1, 2);
  return p;
}

namespace {

/// Before kCachePadsConvStates: the layer's last inputs, padded or cut by F.pad, as they are, or
/// copied into the cache's own.
void hold_conv_state(LinearLayer& layer, const Tensor& new_conv_state) {
  if (!ghost::has(changes::kCacheCopiesLinearStates)) {
    layer.conv_states = new_conv_state;
    return;
  }
  layer.conv_states = ghost::zeros_like(new_conv_state, Category::kv_cache);
  ghost::copy_into(layer.conv_states, layer.conv_states, new_conv_state);
}

/// Copied into a tensor of the cache's, which before kCacheKeepsStatesDtype had the dtype of the
/// convolution's inputs.
void hold_recurrent_state(LinearLayer& layer, const Tensor& state) {
  if (!ghost::has(changes::kCacheCopiesLinearStates)) {
    layer.recurrent_states = state;
    return;
  }
  if (!layer.recurrent_states.defined() && !ghost::has(changes::kCacheKeepsStatesDtype))
    layer.recurrent_states =
        ghost::zeros(state.sizes(), layer.conv_states.dtype(), Category::kv_cache);
  layer.update_recurrent_state(state);
}

}  // namespace

Tensor GatedDeltaNet::forward(const Tensor& x) {
  const GatedDeltaNetConfig& c = config_;
  const std::int64_t batch = x.size(0), seq = x.size(1);
  Projected p = c.joint_projections ? project_jointly(x) : project(x);
  LinearLayer* const layer = KeyValueCache::linear_layer();
  const bool steps = is_one_more_token(layer, seq);
  const bool pads_itself = layer && !layer->has_previous_state() &&
                           seq >= conv1d_.weight.size(-1) &&
                           !ghost::has(changes::kCachePadsConvStates);
  Tensor new_conv_state;
  if (pads_itself) {
    new_conv_state = p.mixed_qkv.slice(-1, seq - conv1d_.weight.size(-1), seq).clone();
    hold_conv_state(*layer, new_conv_state);
  }
  p.mixed_qkv =
      cached_conv1d(std::move(p.mixed_qkv), pads_itself ? nullptr : layer, conv1d_, c.activation);
  p.mixed_qkv = p.mixed_qkv.transpose(1, 2);
  const std::array<std::int64_t, 3> lengths{c.key_dim(), c.key_dim(), c.value_dim()};
  std::vector<Tensor> split = p.mixed_qkv.split(lengths, -1);
  Tensor &query = p.query, &key = p.key, &value = p.value;
  query = std::move(split[0]);
  key = std::move(split[1]);
  value = std::move(split[2]);
  query = query.reshape({batch, seq, -1, c.head_k_dim});
  key = key.reshape({batch, seq, -1, c.head_k_dim});
  value = value.reshape({batch, seq, -1, c.head_v_dim});

  const Tensor beta = ghost::sigmoid(p.b);
  const Tensor g =
      ghost::exp(a_log_.to_float()).neg().mul(ghost::softplus(p.a.to_float().add(dt_bias_)));
  const bool repeats_inside = ghost::has(changes::kDeltaRuleRepeatsHeads);
  if (c.heads_per_key() > 1 && !repeats_inside) {
    query = ghost::repeat_interleave(query, c.heads_per_key(), 2);
    key = ghost::repeat_interleave(key, c.heads_per_key(), 2);
  }
  Tensor core_attn_out, last_recurrent_state;
  if (!steps && !ghost::has(changes::kDeltaRuleSolvesTriangles)) {
    DeltaRuleByRows rule{.query = query, .key = key, .value = value, .g = g, .beta = beta};
    if (layer) rule.last_recurrent_state = layer->recurrent_states;
    core_attn_out = rule.run(layer != nullptr);
    last_recurrent_state = rule.last_recurrent_state;
  } else {
    ChunkGatedDeltaRule rule{.query = query, .key = key, .value = value, .decay = g, .beta = beta};
    if (repeats_inside) rule.repeat_heads(c.heads_per_key());
    if (layer) rule.last_recurrent_state = layer->recurrent_states;
    core_attn_out = steps ? rule.run_step() : rule.run(layer != nullptr);
    last_recurrent_state = rule.last_recurrent_state;
  }
  if (layer) hold_recurrent_state(*layer, last_recurrent_state);

  core_attn_out = core_attn_out.reshape({-1, c.head_v_dim});
  core_attn_out = norm_(core_attn_out, p.z.reshape({-1, c.head_v_dim}));
  return out_proj_(core_attn_out.reshape({batch, seq, -1}));
}

}  // namespace memtape::family
