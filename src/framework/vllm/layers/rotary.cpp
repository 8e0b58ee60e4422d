// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/rotary.h"

#include <cmath>

#include "framework/vllm/ops.h"
#include "ghost/ops/joins.h"
#include "model/type_of.h"
#include "release/engine_changes.h"

namespace memtape::vllm {
namespace {

/// Where transformers puts the parameters: rope_parameters, or rope_scaling beside rope_theta in
/// older configurations (patch_rope_parameters).
Config parameters_object(const Config& config, const std::string& layer_type) {
  if (config.has("rope_parameters")) {
    const Config all = config.object("rope_parameters");
    if (!layer_type.empty() && all.has(layer_type)) return all.object(layer_type);
    return all;
  }
  return config.object("rope_scaling");
}

/// Gemma 3's older configurations: the scaling is for full attention, sliding layers have
/// rope_local_base_freq.
bool is_local_rope(const Config& config, const std::string& layer_type) {
  return !config.has("rope_parameters") && layer_type == "sliding_attention" &&
         config.has("rope_local_base_freq");
}

/// MRotaryEmbedding's tables are four times as long, but for models that came to ask for one
/// (qwen3_vl.py, mrope_positions_factor).
std::int64_t mrope_positions_factor(const Config& config, const Release& release) {
  if (!release.has(changes::kVllmShortensSectionedRopes)) return 4;
  const std::string type = type_of(config);
  const bool has_images = config.has("vision_config");
  const bool asks = type.starts_with("qwen3_5") || (has_images && type.starts_with("qwen3_vl"));
  return asks ? 1 : 4;
}

}  // namespace

RopeParameters RopeParameters::read(const Config& config, const std::string& layer_type) {
  RopeParameters p;
  const bool is_nested = config.has("rope_parameters");
  p.partial_rotary_factor = config.number({"partial_rotary_factor", "rotary_pct"}, 1.0);
  if (is_local_rope(config, layer_type)) {
    p.theta = config.number("rope_local_base_freq", 10000);
    p.key = "local " + std::to_string(p.theta);
    return p;
  }
  const Config o = parameters_object(config, layer_type);
  p.theta = is_nested ? o.number("rope_theta", 10000) : config.number("rope_theta", 10000);
  p.type = o.text({"rope_type", "type"}, "default");
  if (p.type == "su") p.type = "longrope";
  if (p.type == "mrope") p.type = "default";
  p.factor = o.optional_number("factor").value_or(1.0);
  p.partial_rotary_factor = o.number("partial_rotary_factor", p.partial_rotary_factor);
  // Gemma4RotaryEmbedding: the table spans the whole head, whatever part of it turns.
  if (p.type == "proportional") p.partial_rotary_factor = 1;
  p.original_max_position =
      o.optional_integer("original_max_position_embeddings")
          .value_or(config.optional_integer("original_max_position_embeddings").value_or(0));
  p.has_sections = o.has("mrope_section");
  p.key = p.type + " " + std::to_string(p.theta) + " " + o.json();
  return p;
}

RotaryEmbedding::RotaryEmbedding(const Place& place, const RopeShape& shape,
                                 const RopeParameters& p)
    : place_(place), shape_(shape) {
  const ghost::ScopeGuard guard(place.scope().node().scope);
  if (p.type == "longrope") {
    table_ = long_rope(shape, p);
    is_long_rope_ = true;
    runs_long_ = place.settings().max_model_len > p.original_max_position;
    place.scope().buffer("long_short_cos_sin_cache", table_);
    return;
  }
  std::int64_t positions = shape.max_position;
  if (p.type == "yarn" || p.type == "deepseek_yarn" || p.type == "deepseek_llama_scaling")
    positions = static_cast<std::int64_t>(static_cast<double>(p.original_max_position) * p.factor);
  const bool is_gemma3 = type_of(place.config()).starts_with("gemma3");
  // SGLang's Gemma 3 leaves the scaling of its ropes out; its tables stay float32, as given.
  const bool sglang = place.settings().sglang_layers;
  if (p.type == "linear" && !(sglang && is_gemma3))
    positions = static_cast<std::int64_t>(static_cast<double>(positions) * p.factor);
  if (p.has_sections && !sglang)
    positions *= mrope_positions_factor(place.config(), place.settings().release);
  scales_ = p.type == "yarn" || p.type == "deepseek_yarn";
  Tensor cache = table(positions);
  if (p.type == "linear")
    cache = kernel_output("cat", cache.sizes(), DType::float32);  // torch.cat(cache_list)
  // DeepSeek's rope keeps float32 where FlashInfer rotates (deepseek_scaling_rope.py).
  const bool flashinfer = p.type == "deepseek_yarn" && place.settings().flashinfer &&
                          (shape.head_size == 64 || shape.head_size == 128 ||
                           shape.head_size == 256 || shape.head_size == 512);
  const bool stays = p.keeps_float32 || sglang;
  table_ = flashinfer || stays ? cache : cache.to(place.runtime().dtype());
  rotates_float32_ = p.keeps_float32;
  is_deepseek_ = p.type == "deepseek_yarn" || p.type == "deepseek_llama_scaling";
  place.scope().buffer("cos_sin_cache", table_);
}

Tensor RotaryEmbedding::table(std::int64_t positions) const {
  const std::int64_t width = shape_.rotary_dim;
  const Tensor inv_freq = kernel_output("inv_freq", {width / 2}, DType::float32);
  const Tensor t = kernel_output("arange", {positions}, DType::float32);
  const Tensor freqs = kernel_output("einsum", {positions, width / 2}, DType::float32);
  Tensor cos = kernel_output("cos", {positions, width / 2}, DType::float32);
  if (scales_) cos = kernel_output("mul", cos.sizes(), DType::float32);
  Tensor sin = kernel_output("sin", {positions, width / 2}, DType::float32);
  if (scales_) sin = kernel_output("mul", sin.sizes(), DType::float32);
  return kernel_output("cat", {positions, width}, DType::float32);
}

void RotaryEmbedding::extend(std::int64_t positions) {
  if (is_long_rope_ || positions <= table_.size(0)) return;
  const ghost::ScopeGuard guard(place_.scope().node().scope);
  const Tensor rows = table(positions - table_.size(0));
  table_ = kernel_output("cat", {positions, shape_.rotary_dim}, table_.dtype());
  for (auto& buffer : place_.scope().node().buffers) buffer.tensor = table_;
}

/// phi3_long_rope_scaled_rope.py: the short table and the long one, joined.
Tensor RotaryEmbedding::long_rope(const RopeShape& shape, const RopeParameters& p) {
  const auto scaled_table = [&](std::int64_t positions) {
    const std::int64_t half = shape.rotary_dim / 2;
    const Tensor inv_freq = kernel_output("inv_freq", {half}, DType::float32);
    const Tensor t = kernel_output("arange", {positions}, DType::float32);
    const Tensor freqs = kernel_output("einsum", {positions, half}, DType::float32);
    const Tensor cos = kernel_output("cos", {positions, half}, DType::float32).mul(ghost::kScale);
    const Tensor sin = kernel_output("sin", {positions, half}, DType::float32).mul(ghost::kScale);
    return kernel_output("cat", {positions, shape.rotary_dim}, DType::float32);
  };
  const DType dtype = place_.runtime().dtype();
  Tensor short_cache = scaled_table(p.original_max_position);
  short_cache = short_cache.to(dtype);
  Tensor long_cache = scaled_table(shape.max_position);
  long_cache = long_cache.to(dtype);
  return kernel_output("cat", {p.original_max_position + shape.max_position, shape.rotary_dim},
                       dtype);
}

std::shared_ptr<RotaryEmbedding> get_rope(const Place& place, RopeShape shape,
                                          const RopeParameters& parameters) {
  if (shape.rotary_dim == 0)
    shape.rotary_dim = static_cast<std::int64_t>(static_cast<double>(shape.head_size) *
                                                 parameters.partial_rotary_factor);
  const std::string key = std::to_string(shape.head_size) + " " + std::to_string(shape.rotary_dim) +
                          " " + std::to_string(shape.max_position) + " " + parameters.key;
  auto& known = place.runtime().ropes[key];
  if (!known) known = std::make_shared<RotaryEmbedding>(place, shape, parameters);
  return known;
}

Tensor RotaryEmbedding::rotated_by_ops(const Tensor& x, const Tensor& cos,
                                       const Tensor& sin) const {
  const Tensor by_head = x.view({x.size(0), -1, shape_.head_size});
  Tensor rot = by_head.slice(-1, 0, shape_.rotary_dim);
  const Tensor pass = by_head.slice(-1, shape_.rotary_dim, shape_.head_size);
  Tensor product = rot.mul(cos);
  const auto rotate_neox = [&] {
    const Tensor x1 = rot.slice(-1, 0, shape_.rotary_dim / 2);
    const Tensor x2 = rot.slice(-1, shape_.rotary_dim / 2, shape_.rotary_dim);
    return ghost::cat({x2.neg(), x1}, -1);
  };
  rot = std::move(product).add(rotate_neox().mul(sin));
  return ghost::cat({rot, pass}, -1).view(x.sizes());
}

Tensor RotaryEmbedding::rotated_apart(const Tensor& query, const Tensor& key) const {
  const std::int64_t tokens = query.size(0), width = shape_.rotary_dim;
  const auto sized = [&](const char* op, const Dims& sizes) {
    return kernel_output(op, sizes, query.dtype());
  };
  const Tensor cos_sin = sized("index", {tokens, width});
  const Tensor cos = sized("repeat_interleave", {tokens, 1, width});
  const Tensor sin = sized("repeat_interleave", {tokens, 1, width});
  const auto rotated = [&](const Tensor& x) {
    const Tensor straight = sized("mul", x.sizes());
    Tensor turned;
    {
      const Tensor negated = sized("neg", x.sizes().leading().with(width / 2));
      turned = sized("stack", x.sizes());
    }
    turned = sized("mul", x.sizes());
    return sized("add", x.sizes());
  };
  const Tensor query_rot = rotated(query);
  return rotated(key);
}

void RotaryEmbedding::rotate(Tensor& query, Tensor& key) {
  if (rotates_float32_) {  // _match_cos_sin_cache_dtype
    table_ = table_.to(query.dtype());
    for (auto& buffer : place_.scope().node().buffers) buffer.tensor = table_;
    rotates_float32_ = false;
  }
  if (!is_long_rope_) return;
  const std::int64_t tokens = query.size(0);
  Tensor idx;
  if (runs_long_) {
    const Tensor offset = kernel_output("full_like", {tokens}, DType::int64);
    idx = kernel_output("add", {tokens}, DType::int64);
  }
  const Tensor cos_sin = kernel_output("index_select", {tokens, shape_.rotary_dim}, query.dtype());
  const Tensor cos =
      kernel_output("repeat", {tokens, shape_.rotary_dim}, query.dtype()).unsqueeze(-2);
  const Tensor sin =
      kernel_output("repeat", {tokens, shape_.rotary_dim}, query.dtype()).unsqueeze(-2);
  query = rotated_by_ops(query, cos, sin);
  key = rotated_by_ops(key, cos, sin);
}

}  // namespace memtape::vllm
