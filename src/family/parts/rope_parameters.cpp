// SPDX-License-Identifier: Apache-2.0
#include "family/parts/rope_parameters.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

Tensor float_range(std::int64_t count) { return ghost::arange(count, DType::int64).to_float(); }

/// compute_default_rope_parameters: 1 / base ** (arange(0, dim, 2, float) / dim)
Tensor default_inv_freq(std::int64_t dim) {
  return ghost::rdiv(1.0,
                     ghost::pow(ghost::kBase, ghost::arange(dim / 2, DType::float32).div(2.0)));
}

/// _compute_linear_scaling_rope_parameters and _compute_dynamic_ntk_parameters: the range is made
/// of integers; what scales it is a number or in place.
Tensor integer_inv_freq(std::int64_t dim) {
  return ghost::rdiv(1.0, ghost::pow(ghost::kBase, float_range(dim / 2).div(2.0)));
}

/// torch.arange(...).to(device, torch.float) without a device of its own.
Tensor range_from_host(std::int64_t count) {
  const ghost::Op op("_to_copy", {});
  return ghost::empty({count}, DType::float32);
}

/// torch.maximum(seq_len, torch.tensor(config.max_position_embeddings, ...))
Tensor longest(const Tensor& seq_len) {
  return ghost::maximum(seq_len, ghost::full({}, seq_len.dtype()));
}

/// linear_ramp_factor of _compute_yarn_parameters.
Tensor linear_ramp_factor(std::int64_t dim) {
  const Tensor linear_func = ghost::arange(dim, DType::float32).add(-0.5).div(2.0);
  return ghost::clamp(linear_func, {.min = 0, .max = 1});
}

/// _compute_yarn_parameters.
Tensor yarn_inv_freq(std::int64_t dim) {
  const Tensor pos_freqs = ghost::pow(ghost::kBase, float_range(dim / 2).div(2.0));
  const Tensor extrapolation = ghost::rdiv(1.0, pos_freqs);
  const Tensor interpolation = ghost::rdiv(1.0, pos_freqs.mul(2.0));
  const Tensor extrapolation_factor = ghost::rsub(1.0, linear_ramp_factor(dim / 2));
  Tensor interpolated = interpolation.mul(ghost::rsub(1.0, extrapolation_factor));
  return std::move(interpolated).add(extrapolation.mul(extrapolation_factor));
}

/// _compute_llama3_parameters.
Tensor llama3_inv_freq(std::int64_t dim) {
  const Tensor inv_freq = integer_inv_freq(dim);
  const Tensor wavelen = ghost::rdiv(6.28, inv_freq);
  Tensor is_long = ghost::gt(wavelen, ghost::kLimit);
  Tensor scaled = inv_freq.div(8.0);
  const Tensor inv_freq_llama = ghost::where(std::move(is_long), std::move(scaled), inv_freq);
  const Tensor smooth_factor = ghost::rdiv(8192.0, wavelen).add(-1.0).div(3.0);
  const Tensor smoothed = ghost::rsub(1.0, smooth_factor)
                              .mul(inv_freq_llama)
                              .div(8.0)
                              .add(smooth_factor.mul(inv_freq_llama));
  Tensor not_short = ghost::bitwise_not(ghost::lt(wavelen, ghost::kLimit));
  Tensor not_long = ghost::bitwise_not(ghost::gt(wavelen, ghost::kLimit));
  const Tensor is_medium_freq = std::move(not_short).mul(std::move(not_long));
  return ghost::where(is_medium_freq, smoothed, inv_freq_llama);
}

/// _compute_proportional_rope_parameters: zeros for the angles that stand still.
Tensor proportional_inv_freq(const RopeParameters& rope) {
  const Tensor inv_freq_rotated = integer_inv_freq(rope.rotated_dim);
  const std::int64_t nope_angles = (rope.dim - rope.rotated_dim) / 2;
  if (nope_angles == 0) return inv_freq_rotated;
  return ghost::cat({inv_freq_rotated, ghost::zeros({nope_angles}, DType::float32)}, 0);
}

// SarvamMLAConfig takes deepseek_yarn for yarn.
constexpr std::array<std::string_view, 10> kTypeNames{
    "default", "linear", "dynamic", "yarn",         "longrope",
    "su",      "llama3", "mrope",   "proportional", "deepseek_yarn"};
constexpr std::array<RopeType, 10> kTypes{
    RopeType::standard,     RopeType::linear,   RopeType::dynamic, RopeType::yarn,
    RopeType::longrope,     RopeType::longrope, RopeType::llama3,  RopeType::standard,
    RopeType::proportional, RopeType::yarn};

RopeType type_named(const Config& config, const std::string& name) {
  const auto at = std::find(kTypeNames.begin(), kTypeNames.end(), name);
  if (at != kTypeNames.end()) return kTypes[static_cast<std::size_t>(at - kTypeNames.begin())];
  config.fail("rope_type", "unknown type \"" + name + "\", " + suggestion(name, kTypeNames));
  return RopeType::standard;
}

}  // namespace

RopeType rope_type_of(const Config& settings, RopeType otherwise) {
  if (!settings.has({"rope_type", "type"})) return otherwise;
  return type_named(settings, settings.text({"rope_type", "type"}));
}

RopeParameters rope_parameters(const Config& config, std::int64_t head_dim, const char* partial_key,
                               double otherwise) {
  RopeParameters rope;
  double partial = config.number(partial_key, otherwise);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Config scaling = config.object(key);
    rope.rope_type = rope_type_of(scaling, rope.rope_type);
    partial = scaling.number("partial_rotary_factor", partial);
  }
  if (partial <= 0.0 || partial > 1.0) config.fail(partial_key, "must be above 0 and at most 1");
  rope.dim =
      static_cast<std::int64_t>(static_cast<double>(head_dim) * std::clamp(partial, 0.0, 1.0));
  if (rope.rope_type == RopeType::dynamic)
    rope.max_position_embeddings = config.count("max_position_embeddings", 0);
  if (rope.rope_type == RopeType::proportional) {
    rope.rotated_dim = rope.dim / 2 * 2;
    rope.dim = head_dim;
  }
  return rope;
}

RopeParameters layer_type_rope(const Config& settings, std::int64_t head_dim, RopeType otherwise,
                               double partial) {
  RopeParameters rope{.rope_type = rope_type_of(settings, otherwise), .dim = head_dim};
  partial = settings.number("partial_rotary_factor", partial);
  if (partial <= 0.0 || partial > 1.0)
    settings.fail("partial_rotary_factor", "must be above 0 and at most 1");
  rope.rotated_dim = 2 * static_cast<std::int64_t>(partial * static_cast<double>(head_dim) / 2);
  return rope;
}

LayerRopes layer_ropes(const Config& config, std::int64_t head_dim,
                       std::span<const LayerType> layer_types) {
  const Config by_type = config.object("rope_parameters");
  const auto in_use = [&](LayerType type) {
    return std::find(layer_types.begin(), layer_types.end(), type) != layer_types.end();
  };
  const auto read = [&](const Config& settings, RopeParameters& rope) {
    rope.rope_type = rope_type_of(settings, rope.rope_type);
  };
  LayerRopes ropes;
  if (in_use(LayerType::full_attention)) {
    RopeParameters rope{.dim = head_dim};
    read(by_type.object("full_attention"), rope);
    read(config.object("rope_scaling"), rope);
    ropes.types.push_back({LayerType::full_attention, rope});
  }
  if (in_use(LayerType::sliding_attention)) {
    RopeParameters rope{.dim = head_dim};
    read(by_type.object("sliding_attention"), rope);
    ropes.types.push_back({LayerType::sliding_attention, rope});
  }
  return ropes;
}

Tensor grown_dynamic_inv_freq(const RopeParameters& rope, const Tensor& given_seq_len) {
  const Tensor seq_len = longest(given_seq_len);
  Tensor base = seq_len.to_float();  // a product with a number
  base = base.div(2.0);
  base = base.add(-1.0);
  base = base.pow(1.5);
  base = base.mul(10000.0);
  return ghost::rdiv(1.0, ghost::pow(base, range_from_host(rope.dim / 2).div(2.0)));
}

LongRope long_rope(std::int64_t dim) {
  LongRope made;
  made.ext_factors = ghost::zeros({dim / 2}, DType::float32);
  made.inv_freq_shape = float_range(dim / 2).div(2.0);
  made.inv_freq =
      ghost::rdiv(1.0, made.ext_factors.mul(ghost::pow(ghost::kBase, made.inv_freq_shape)));
  return made;
}

Tensor compute_inv_freq(const RopeParameters& rope) {
  switch (rope.rope_type) {
    case RopeType::standard: return default_inv_freq(rope.dim);
    case RopeType::linear:
    case RopeType::dynamic: return integer_inv_freq(rope.dim);
    case RopeType::yarn: return yarn_inv_freq(rope.dim);
    case RopeType::longrope: return long_rope(rope.dim).inv_freq;
    case RopeType::llama3: return llama3_inv_freq(rope.dim);
    case RopeType::proportional: return proportional_inv_freq(rope);
  }
  return {};
}

}  // namespace memtape::family
