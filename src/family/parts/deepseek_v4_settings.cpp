// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "family/parts/deepseek_v4_settings.h"
#include "family/parts/sink_attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

constexpr std::array<std::string_view, 3> kLayerTypes{
    "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"};
constexpr std::array kRatios{0, 4, 128};  ///< the same, as older configurations say it

RopeParameters half_width(RopeParameters rope) {
  rope.half_width = true;
  return rope;
}

}  // namespace

DeepseekV4Config::DeepseekV4Config(const Config& c, const ModelOptions& options)
    : MoeConfig(c, options,
                {.vocab_size = 129280,
                 .num_hidden_layers = 43,
                 .num_attention_heads = 64,
                 .num_key_value_heads = 1,
                 .head_dim = 512},
                {.experts_key = {"n_routed_experts", "num_local_experts"},
                 .num_experts = 256,
                 .num_experts_per_tok = 6,
                 // attribute_map: the other name for it is set last
                 .intermediate_key = {"intermediate_size", "moe_intermediate_size"},
                 .intermediate_size = 2048}),
      q_lora_rank(c.dimension("q_lora_rank", 1024)),
      o_groups(c.dimension("o_groups", 8)),
      o_lora_rank(c.dimension("o_lora_rank", 1024)),
      index_n_heads(c.dimension("index_n_heads", 64)),
      index_head_dim(c.dimension("index_head_dim", 128)),
      index_topk(c.dimension("index_topk", 512)),
      hyper_connection{.hidden_size = hidden_size,
                       .mult = c.dimension("hc_mult", 4),
                       .sinkhorn_iterations = c.dimension("hc_sinkhorn_iters", 20)} {
  intermediate_size = moe_intermediate_size;
  mlp_bias = c.boolean("mlp_bias", false);
  sliding_window = c.dimension("sliding_window", 128);
  attention = sink_implementation(options.attention);
  const std::string scores = c.text("scoring_func", "sqrtsoftplus");
  sigmoid_scores = scores == "sigmoid";
  if (!sigmoid_scores && scores != "sqrtsoftplus")
    c.fail("scoring_func", "must be sqrtsoftplus or sigmoid, found \"" + scores + "\"");
  if (num_attention_heads * head_dim % o_groups != 0)
    c.fail("o_groups",
           "must divide the heads' width " + std::to_string(num_attention_heads * head_dim));
  read_attention_layers(c);
  read_mlp_layers(c);
  read_ropes(c);
}

void DeepseekV4Config::read_attention_layers(const Config& c) {
  const Config rates = c.object("compress_rates");
  sparse_rate = c.dimension("compress_rate_csa", rates.dimension(kLayerTypes[1], 4));
  heavy_rate = c.dimension("compress_rate_hca", rates.dimension(kLayerTypes[2], 128));
  const std::vector<std::string> types = c.texts("layer_types");
  const std::vector<std::int64_t> ratios = c.integers("compress_ratios");
  const std::size_t named = types.empty() ? ratios.size() : types.size();
  const auto layers = static_cast<std::size_t>(num_hidden_layers);
  if (named > 0 && named < layers)
    c.fail(types.empty() ? "compress_ratios" : "layer_types",
           "must name " + std::to_string(layers) + " layers, names " + std::to_string(named));
  for (std::size_t i = 0; i < layers; ++i) {
    std::size_t kind = i < 2 || i % 2 == 0 ? 2 : 1;
    if (i < types.size())
      kind = static_cast<std::size_t>(std::find(kLayerTypes.begin(), kLayerTypes.end(), types[i]) -
                                      kLayerTypes.begin());
    else if (i < ratios.size())
      kind = static_cast<std::size_t>(std::find(kRatios.begin(), kRatios.end(), ratios[i]) -
                                      kRatios.begin());
    if (kind == kLayerTypes.size()) {
      if (types.empty())
        c.fail("compress_ratios", "must be 0, 4 or 128, found " + std::to_string(ratios[i]));
      else
        c.fail("layer_types",
               "unknown type \"" + types[i] + "\", " + suggestion(types[i], kLayerTypes));
      kind = 0;
    }
    compressed.push_back(static_cast<CompressedKeys>(kind));
  }
}

/// The first layers look their experts up by token.
void DeepseekV4Config::read_mlp_layers(const Config& c) {
  const std::vector<std::string> types = c.texts("mlp_layer_types");
  const std::int64_t hashed = c.count("num_hash_layers", 3);
  if (!types.empty() && types.size() < static_cast<std::size_t>(num_hidden_layers))
    c.fail("mlp_layer_types", "must name " + std::to_string(num_hidden_layers) + " layers, names " +
                                  std::to_string(types.size()));
  for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    hash_moe.push_back(at < types.size() ? types[at] == "hash_moe" : i < hashed);
  }
}

/// Scaling is for the layers with compressed keys; the others rotate as ever.
void DeepseekV4Config::read_ropes(const Config& c) {
  const double factor = c.optional_number("partial_rotary_factor").value_or(0.0);
  const std::int64_t dim = factor > 0
                               ? static_cast<std::int64_t>(static_cast<double>(head_dim) * factor)
                               : c.dimension("qk_rope_head_dim", head_dim / 8);
  if (dim < 2 || dim % 2 != 0 || dim > head_dim || dim > index_head_dim)
    c.fail("qk_rope_head_dim", "must be even and at most head_dim and index_head_dim");
  const Config nested = c.object("rope_parameters");
  compress_rope = rope;
  rope.rope_type = rope_type_of(nested.object("main"), RopeType::standard);
  compress_rope.rope_type = rope_type_of(nested.object("compress"), compress_rope.rope_type);
  rope.dim = compress_rope.dim = std::max<std::int64_t>(dim, 2);
}

DeepseekV4RotaryEmbedding::DeepseekV4RotaryEmbedding(const nn::Scope& scope,
                                                     const DeepseekV4Config& c)
    : Module(scope),
      main_rope_(half_width(c.rope)),
      compress_rope_(half_width(c.compress_rope)),
      main_(scope, main_rope_, "main_"),
      compress_(scope, compress_rope_, "compress_") {}

CosSin DeepseekV4RotaryEmbedding::forward(const Tensor& x, const Tensor& position_ids, Kind kind) {
  return kind == Kind::main ? main_(x, position_ids) : compress_(x, position_ids);
}

void DeepseekV4RotaryEmbedding::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  Tensor curr_inv_freq = compute_inv_freq(main_rope_);
  curr_inv_freq = compute_inv_freq(compress_rope_);
}

Tensor rotate_tail(const Tensor& x, const Tensor& half_cos, Tensor sin) {
  const Tensor cos = ghost::repeat_interleave(half_cos, 2, -1).unsqueeze(1);
  sin = ghost::repeat_interleave(sin, 2, -1).unsqueeze(1);
  const std::int64_t rope_dim = cos.size(-1);
  const Tensor nope = x.slice(-1, 0, -rope_dim), rope = x.slice(-1, -rope_dim, x.size(-1));
  const Tensor rotated =
      rope.to_float().mul(cos).add(rotate_every_two(rope).to_float().mul(sin)).to(x.dtype());
  return ghost::cat({nope, rotated}, -1);
}

DeepseekV4RMSNorm::DeepseekV4RMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope),
      weight_(deepseek_v4_parameters(scope, std::array<NamedSizes, 1>{{{"weight", {hidden_size}}}})
                  .front()) {}

Tensor DeepseekV4RMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  if (!ghost::has(changes::kDeepseekV4NormInFloat32))
    return weight_.mul(hidden_states.to(input_dtype));
  return weight_.mul(hidden_states).to(input_dtype);
}

}  // namespace memtape::family
