// SPDX-License-Identifier: Apache-2.0
#include "family/parts/rope.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "family/caches/key_value_cache.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/complex.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// Phi3LongRoPEScaledRotaryEmbedding, which each attention had before 4.48: its forward computes
/// the frequencies in its own body, and it keeps no first ones.
bool is_written_out(const RopeParameters& rope) {
  return rope.rope_type == RopeType::longrope && !ghost::has(changes::kModelsHaveTheRopes);
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope,
                                 const std::string& prefix)
    : Module(scope), rope_(rope), buffer_(node().buffers.size()) {
  const ghost::ScopeGuard guard(node().scope);
  inv_freq_ = compute_inv_freq(rope_);
  scope.buffer(prefix + "inv_freq", inv_freq_);
  if (!rope_.keeps_original || is_written_out(rope_)) return;
  if (!ghost::has(changes::kOriginalFrequenciesAreABuffer)) {
    original_inv_freq_ = inv_freq_;
    return;
  }
  original_inv_freq_ = inv_freq_.clone();
  scope.buffer(prefix + "original_inv_freq", original_inv_freq_);
}

void RotaryEmbedding::init_weights() const {
  if (!ghost::has(changes::kOriginalFrequenciesAreABuffer)) return;
  const ghost::ScopeGuard guard(node().scope);
  const Tensor again = compute_inv_freq(rope_);
}

void RotaryEmbedding::register_inv_freq(const Tensor& inv_freq) {
  inv_freq_ = inv_freq;
  node().buffers[buffer_].tensor = inv_freq;
  ghost::session().set_category(inv_freq, Category::buffer);
}

/// The tensor then has two names, and counts once.
void RotaryEmbedding::register_original_inv_freq() {
  auto& buffers = node().buffers;
  if (buffers.size() > buffer_ + 1)
    buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(buffer_) + 1);
  register_inv_freq(original_inv_freq_);
}

/// dynamic_rope_update's decorator. `if seq_len > ...` reads a comparison back from the device. For
/// longrope it counts as true, as in every recording: it takes its long factors in every forward.
LongRope RotaryEmbedding::update_frequencies(const Tensor& position_ids) {
  if (rope_.rope_type == RopeType::dynamic) update_dynamic_frequencies(position_ids);
  if (rope_.rope_type != RopeType::longrope) return {};
  if (is_written_out(rope_)) {
    LongRope made = long_rope(rope_.dim);
    register_inv_freq(made.inv_freq);
    return made;
  }
  update_long_frequencies(ghost::max_all(position_ids).add(1));
  return {};
}

void RotaryEmbedding::update_long_frequencies(const Tensor& seq_len) {
  if (ghost::has(changes::kLongRopeKeepsItsFrequencies)) return choose_frequencies(seq_len);
  ghost::gt(seq_len, ghost::kLimit);
  const bool keeps = !ghost::has(changes::kLongRopeForgetsItsFrequencies);
  if (keeps && !long_inv_freq_.defined()) long_inv_freq_ = compute_inv_freq(rope_);
  register_inv_freq(keeps ? long_inv_freq_ : compute_inv_freq(rope_));
}

/// The long frequencies are made once; what is chosen of both is copied into the buffer.
void RotaryEmbedding::choose_frequencies(const Tensor& seq_len) {
  if (!long_inv_freq_.defined()) long_inv_freq_ = compute_inv_freq(rope_);
  Tensor is_long = ghost::gt(seq_len, ghost::kLimit);
  const Tensor inv_freq = ghost::where(std::move(is_long), long_inv_freq_, original_inv_freq_);
}

/// dynamic_frequency_update: growth beyond the longest sequence so far, and a reset where one as
/// long as the model was made for follows.
void RotaryEmbedding::update_dynamic_frequencies(const Tensor& position_ids) {
  const KeyValueCache* cache = KeyValueCache::passed();
  const std::int64_t tokens = position_ids.size(-1) + (cache ? cache->seen() : 0);
  const std::int64_t original = rope_.max_position_embeddings;
  const Tensor seq_len = ghost::max_all(position_ids).add(1);
  const Tensor max_seq_len_cached = max_seq_len_cached_;
  ghost::gt(seq_len, ghost::kLimit);
  if (original > 0 && tokens > std::max(original, grown_to_)) {
    register_inv_freq(grown_dynamic_inv_freq(rope_, seq_len));
    max_seq_len_cached_ = seq_len;
    grown_to_ = tokens;
  }
  ghost::lt(seq_len, ghost::kLimit);
  if (tokens >= original || !max_seq_len_cached.defined()) return;
  ghost::gt(max_seq_len_cached, ghost::kLimit);
  register_inv_freq(original_inv_freq_);
  max_seq_len_cached_.reset();
  grown_to_ = 0;
}

RotaryAngles rotary_angles(const Tensor& position_ids, const Tensor& inv_freq) {
  if (ghost::has(changes::kRotaryAnglesAreProducts))
    return {position_ids.unsqueeze(-1).to_float().mul(inv_freq.to_float()), {}, {}};
  Dims sizes = position_ids.sizes().leading().with(inv_freq.size(0)).with(1);
  Tensor inv_freq_expanded = inv_freq.to_float().unsqueeze(-1);
  while (inv_freq_expanded.sizes().rank() < sizes.rank())
    inv_freq_expanded = inv_freq_expanded.unsqueeze(0);
  inv_freq_expanded = inv_freq_expanded.expand(sizes);
  Tensor position_ids_expanded = position_ids.unsqueeze(-2).to_float();
  Tensor freqs = inv_freq_expanded.matmul(position_ids_expanded).transpose(-2, -1);
  return {std::move(freqs), std::move(inv_freq_expanded), std::move(position_ids_expanded)};
}

namespace {

/// Whether the module is one of those that attentions had of their own (see OwnRopes).
bool is_in_attention(const nn::ModuleNode& module) {
  const std::string path = ghost::session().tape.scopes.path(module.scope);
  return path.ends_with("self_attn.rotary_emb") || path.ends_with("norm_attn_norm.attn.rotary_emb");
}

}  // namespace

CosSin RotaryEmbedding::forward(const Tensor& x, const Tensor& position_ids) {
  const ghost::GradMode no_grad(false);
  const LongRope own = update_frequencies(position_ids);
  const ghost::AutocastContext no_autocast(false, DType::float32);
  const RotaryAngles angles = rotary_angles(position_ids, inv_freq_);
  const Tensor& freqs = angles.freqs;
  if (rope_.is_complex) return {ghost::polar_of_ones(freqs).mul(ghost::kScale), Tensor()};
  const Tensor emb = rope_.half_width    ? freqs
                     : rope_.interleaved ? ghost::repeat_interleave(freqs, 2, -1)
                                         : ghost::cat({freqs, freqs}, -1);
  Tensor cos = ghost::cos(emb), sin;
  const bool is_scaled = !is_in_attention(node());
  const bool in_turn = is_scaled && ghost::has(changes::kAnglesAreScaledInTurn);
  if (in_turn || (!is_scaled && rope_.rope_type == RopeType::longrope))
    cos = cos.mul(ghost::kScale);
  sin = ghost::sin(emb);
  if (!in_turn && is_scaled) cos = cos.mul(ghost::kScale);
  if (is_scaled || rope_.rope_type == RopeType::longrope) sin = sin.mul(ghost::kScale);
  if (rope_.keeps_float32) return {cos, sin};
  Tensor cos_cast = cos.to(x.dtype());
  return {std::move(cos_cast), sin.to(x.dtype())};
}

namespace {

void add_types_not_in_use(LayerRopes& ropes) {
  if (ropes.types.size() != 1) return;
  LayerRopes::Of other = ropes.types.front();
  const bool is_full = other.type == LayerType::full_attention;
  other.type = is_full ? LayerType::sliding_attention : LayerType::full_attention;
  ropes.types.push_back(other);
}

}  // namespace

LayerTypeRotaryEmbedding::LayerTypeRotaryEmbedding(const nn::Scope& scope, const LayerRopes& ropes)
    : Module(scope), ropes_(ropes) {
  if (!ghost::has(changes::kRopesByTypeInUse)) add_types_not_in_use(ropes_);
  for (const LayerRopes::Of& of : ropes_.types)
    embeddings_.emplace_back(
        scope, of.rope,
        of.type == LayerType::full_attention ? "full_attention_" : "sliding_attention_");
}

void LayerTypeRotaryEmbedding::init_weights() const {
  if (!ghost::has(changes::kOriginalFrequenciesAreABuffer)) return;
  const ghost::ScopeGuard guard(node().scope);
  Tensor curr_inv_freq;
  for (const LayerRopes::Of& of : ropes_.types) curr_inv_freq = compute_inv_freq(of.rope);
}

LayerCosSin LayerTypeRotaryEmbedding::forward(const Tensor& x, const Tensor& position_ids) {
  LayerCosSin all;
  for (std::size_t i = 0; i < embeddings_.size(); ++i) {
    CosSin& cos_sin = ropes_.types[i].type == LayerType::full_attention ? all.full_attention
                                                                        : all.sliding_attention;
    cos_sin = embeddings_[i](x, position_ids);
  }
  return all;
}

Tensor rotate_half(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor x1 = x.slice(-1, 0, half);
  const Tensor x2 = x.slice(-1, half, x.size(-1));
  return ghost::cat({x2.neg(), x1}, -1);
}

Tensor rotate_every_two(const Tensor& x) {
  const Tensor x1 = ghost::strided_slice(x, -1, 0, 2);
  const Tensor x2 = ghost::strided_slice(x, -1, 1, 2);
  return ghost::stack_last({x2.neg(), x1}).view(x.sizes());
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin) {
  if (const auto kernel = ghost::session().rotary_kernel)
    return kernel(q, k, cos_sin.first, cos_sin.second);
  return apply_rotary_pos_emb_along(q, k, cos_sin, 1);
}

Tensor join_rotated(const Tensor& first, const Tensor& second, const Tensor& cos,
                    const Tensor& sin) {
  const Tensor rotated_first = first.mul(cos).sub(second.mul(sin));
  const Tensor rotated_second = second.mul(cos).add(first.mul(sin));
  return ghost::cat({rotated_first, rotated_second}, -1);
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb_interleave(const Tensor& q, const Tensor& k,
                                                          const CosSin& cos_sin) {
  return apply_rotary_pos_emb_interleave_along(q, k, cos_sin, 1);
}

namespace {

/// Neighbours as two halves: x.view(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)
Tensor pairs_as_halves(const Tensor& x) {
  const Dims pairs = x.sizes().leading().with(x.size(-1) / 2).with(2);
  return x.view(pairs).transpose(-1, -2).reshape(x.sizes());
}

}  // namespace

std::pair<Tensor, Tensor> apply_rotary_pos_emb_interleave_along(const Tensor& q, const Tensor& k,
                                                                const CosSin& cos_sin,
                                                                int unsqueeze_dim) {
  if (!ghost::has(changes::kPairsRotateInPlace)) {
    const Tensor q_halves = pairs_as_halves(q);
    return apply_rotary_pos_emb_along(q_halves, pairs_as_halves(k), cos_sin, unsqueeze_dim);
  }
  const std::int64_t half = cos_sin.first.size(-1) / 2;
  const Tensor cos = cos_sin.first.slice(-1, 0, half).unsqueeze(unsqueeze_dim);
  const Tensor sin = cos_sin.second.slice(-1, 0, half).unsqueeze(unsqueeze_dim);
  const Tensor q1 = ghost::strided_slice(q, -1, 0, 2), q2 = ghost::strided_slice(q, -1, 1, 2);
  const Tensor k1 = ghost::strided_slice(k, -1, 0, 2), k2 = ghost::strided_slice(k, -1, 1, 2);
  Tensor q_embed = join_rotated(q1, q2, cos, sin);
  Tensor k_embed = join_rotated(k1, k2, cos, sin);
  return {std::move(q_embed), std::move(k_embed)};
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb_along(const Tensor& q, const Tensor& k,
                                                     const CosSin& cos_sin, int unsqueeze_dim) {
  const Tensor cos = cos_sin.first.unsqueeze(unsqueeze_dim);
  const Tensor sin = cos_sin.second.unsqueeze(unsqueeze_dim);
  Tensor q_embed = q.mul(cos).add(rotate_half(q).mul(sin));
  Tensor k_embed = k.mul(cos).add(rotate_half(k).mul(sin));
  return {std::move(q_embed), std::move(k_embed)};
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb_in_float(const Tensor& q, const Tensor& k,
                                                        const CosSin& cos_sin) {
  if (const auto kernel = ghost::session().rotary_kernel)
    return kernel(q, k, cos_sin.first, cos_sin.second);
  if (!ghost::has(changes::kOlmoKeepsAnglesInFloat32)) return apply_rotary_pos_emb(q, k, cos_sin);
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  Tensor k_embed, q_embed;  // let go of in this order from behind, as in Cohere's function below
  q_embed = q.mul(cos).add(rotate_half(q).mul(sin));
  k_embed = k.mul(cos).add(rotate_half(k).mul(sin));
  Tensor q_cast = q_embed.to(q.dtype());
  return {std::move(q_cast), k_embed.to(k.dtype())};
}

std::pair<Tensor, Tensor> apply_interleaved_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                                           const CosSin& cos_sin) {
  const DType dtype = q.dtype();
  // Python's frame lets go of its locals in the order of their names, q first, C++ of the last one
  // first: which of them goes first decides which Block lives on where torch 2.12 joins two.
  Tensor k_embed, q_embed, k_float, q_float;
  q_float = q.to_float();
  k_float = k.to_float();
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  q_embed = q_float.mul(cos).add(rotate_every_two(q_float).mul(sin));
  k_embed = k_float.mul(cos).add(rotate_every_two(k_float).mul(sin));
  Tensor q_cast = q_embed.to(dtype);
  return {std::move(q_cast), k_embed.to(dtype)};
}

std::pair<Tensor, Tensor> apply_partial_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                                       const CosSin& cos_sin) {
  if (const auto kernel = ghost::session().rotary_kernel)
    return kernel(q, k, cos_sin.first, cos_sin.second);
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  const std::int64_t rotary_dim = cos.size(-1);
  const Tensor q_rot = q.slice(-1, 0, rotary_dim), q_pass = q.slice(-1, rotary_dim, q.size(-1));
  const Tensor k_rot = k.slice(-1, 0, rotary_dim), k_pass = k.slice(-1, rotary_dim, k.size(-1));
  Tensor q_embed = ghost::cat({q_rot.mul(cos).add(rotate_half(q_rot).mul(sin)), q_pass}, -1);
  Tensor k_embed = ghost::cat({k_rot.mul(cos).add(rotate_half(k_rot).mul(sin)), k_pass}, -1);
  return {std::move(q_embed), std::move(k_embed)};
}

namespace {

PartlyRotated rotate_part(const Tensor& query_states, const Tensor& key_states,
                          const CosSin& cos_sin) {
  const std::int64_t rotary_ndims = cos_sin.first.size(-1);
  PartlyRotated parts{.query_rot = query_states.slice(-1, 0, rotary_ndims),
                      .query_pass = query_states.slice(-1, rotary_ndims, query_states.size(-1)),
                      .key_rot = key_states.slice(-1, 0, rotary_ndims),
                      .key_pass = key_states.slice(-1, rotary_ndims, key_states.size(-1))};
  std::tie(parts.query_rot, parts.key_rot) =
      apply_rotary_pos_emb(parts.query_rot, parts.key_rot, cos_sin);
  return parts;
}

}  // namespace

std::pair<Tensor, Tensor> apply_rotary_pos_emb_to_part(const Tensor& q, const Tensor& k,
                                                       const CosSin& cos_sin) {
  PartlyRotated parts = rotate_part(q, k, cos_sin);
  parts.query_rot = ghost::cat({parts.query_rot, parts.query_pass}, -1);
  parts.key_rot = ghost::cat({parts.key_rot, parts.key_pass}, -1);
  return {std::move(parts.query_rot), std::move(parts.key_rot)};
}

PartlyRotated rotate_part_in_place(Tensor& query_states, Tensor& key_states,
                                   const CosSin& cos_sin) {
  PartlyRotated parts = rotate_part(query_states, key_states, cos_sin);
  query_states = ghost::cat({parts.query_rot, parts.query_pass}, -1);
  key_states = ghost::cat({parts.key_rot, parts.key_pass}, -1);
  return parts;
}

}  // namespace memtape::family
