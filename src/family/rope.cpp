// SPDX-License-Identifier: Apache-2.0
#include "family/rope.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

/// base ** exponents: the number becomes a tensor on the device first.
Tensor power_of_number(const In& exponents) {
  const ghost::Op op("pow", {&exponents});
  Tensor out = ghost::empty_like(*exponents, DType::float32);
  const Tensor base = ghost::empty({}, DType::int64);
  return out;
}

Tensor default_inv_freq(std::int64_t dim) {
  return ghost::rdiv(1.0, power_of_number(ghost::arange(dim / 2, DType::float32).div(2.0)));
}

/// _compute_llama3_parameters.
Tensor llama3_inv_freq(std::int64_t dim) {
  const Tensor inv_freq =
      ghost::rdiv(1.0, power_of_number(ghost::arange(dim / 2, DType::int64).to(DType::float32).div(2.0)));
  const Tensor wavelen = ghost::rdiv(6.28, inv_freq);
  Tensor is_long = ghost::comparison("gt", wavelen);
  Tensor scaled = inv_freq.div(8.0);
  const Tensor inv_freq_llama = ghost::where(std::move(is_long), std::move(scaled), inv_freq);
  const Tensor smooth_factor = ghost::rdiv(8192.0, wavelen).add(-1.0).div(3.0);
  const Tensor smoothed =
      ghost::rsub(1.0, smooth_factor).mul(inv_freq_llama).div(8.0).add(smooth_factor.mul(inv_freq_llama));
  Tensor not_short = ghost::plain_unary("bitwise_not", ghost::comparison("lt", wavelen));
  Tensor not_long = ghost::plain_unary("bitwise_not", ghost::comparison("gt", wavelen));
  const Tensor is_medium_freq = ghost::logical("mul", std::move(not_short), std::move(not_long));
  return ghost::where(is_medium_freq, smoothed, inv_freq_llama);
}

Tensor inv_freq_of(const RopeParameters& rope) {
  return rope.rope_type == "llama3" ? llama3_inv_freq(rope.dim) : default_inv_freq(rope.dim);
}

}  // namespace

RopeParameters rope_parameters(const Config& config, std::int64_t head_dim) {
  RopeParameters rope;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Config scaling = config.object(key);
    rope.rope_type = scaling.text({"rope_type", "type"}, rope.rope_type);
  }
  const double partial = config.number("partial_rotary_factor", 1.0);
  rope.dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial);
  return rope;
}

RotaryEmbedding::RotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope) : Module(scope), rope_(rope) {
  const ghost::ScopeGuard guard(node().scope);
  inv_freq_ = inv_freq_of(rope_);
  scope.buffer("inv_freq", inv_freq_);
  original_inv_freq_ = inv_freq_.clone();
  scope.buffer("original_inv_freq", original_inv_freq_);
}

void RotaryEmbedding::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  const Tensor again = inv_freq_of(rope_);
}

CosSin RotaryEmbedding::forward(const Tensor& x, const Tensor& position_ids) {
  const ghost::GradMode no_grad(false);
  const std::int64_t batch = position_ids.size(0), half = inv_freq_.size(0);
  const Tensor inv_freq_expanded = inv_freq_.unsqueeze(0).unsqueeze(2).expand({batch, half, 1});
  const Tensor position_ids_expanded = position_ids.unsqueeze(1).to_float();
  const ghost::AutocastContext no_autocast(false, DType::float32);
  const Tensor freqs = inv_freq_expanded.matmul(position_ids_expanded).transpose(1, 2);
  const Tensor emb = ghost::cat({freqs, freqs}, -1);
  const Tensor cos = ghost::cos(emb).mul(1.0);
  const Tensor sin = ghost::sin(emb).mul(1.0);
  if (rope_.keeps_float32) return {cos, sin};
  Tensor cos_cast = cos.to(x.dtype());
  return {std::move(cos_cast), sin.to(x.dtype())};
}

Tensor rotate_half(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor x1 = x.slice(-1, 0, half);
  const Tensor x2 = x.slice(-1, half, x.size(-1));
  return ghost::cat({x2.neg(), x1}, -1);
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  Tensor q_embed = q.mul(cos).add(rotate_half(q).mul(sin));
  Tensor k_embed = k.mul(cos).add(rotate_half(k).mul(sin));
  return {std::move(q_embed), std::move(k_embed)};
}

std::pair<Tensor, Tensor> apply_rotary_pos_emb_in_float(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  const Tensor q_embed = q.mul(cos).add(rotate_half(q).mul(sin));
  const Tensor k_embed = k.mul(cos).add(rotate_half(k).mul(sin));
  Tensor q_cast = q_embed.to(q.dtype());
  return {std::move(q_cast), k_embed.to(k.dtype())};
}

std::pair<Tensor, Tensor> apply_partial_rotary_pos_emb(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  const std::int64_t rotary_dim = cos.size(-1);
  const Tensor q_rot = q.slice(-1, 0, rotary_dim), q_pass = q.slice(-1, rotary_dim, q.size(-1));
  const Tensor k_rot = k.slice(-1, 0, rotary_dim), k_pass = k.slice(-1, rotary_dim, k.size(-1));
  Tensor q_embed = ghost::cat({q_rot.mul(cos).add(rotate_half(q_rot).mul(sin)), q_pass}, -1);
  Tensor k_embed = ghost::cat({k_rot.mul(cos).add(rotate_half(k_rot).mul(sin)), k_pass}, -1);
  return {std::move(q_embed), std::move(k_embed)};
}

}  // namespace memtape::family
