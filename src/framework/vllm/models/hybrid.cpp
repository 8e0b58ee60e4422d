// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/hybrid.h"

#include <algorithm>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/layers/recurrent.h"
#include "framework/vllm/models/decoder.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/moe.h"
#include "framework/vllm/models/single_block.h"
#include "framework/vllm/ops.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// Qwen3NextAttention: the queries' projection brings a gate for the output; one kernel splits,
/// norms and rotates.
class GatedAttention : public nn::Module<GatedAttention> {
 public:
  GatedAttention(const Place& place, std::int64_t hidden, const Heads& heads)
      : Module(place.scope()), heads_(heads) {
    const Config& c = place.config();
    Heads wide = heads;
    wide.total *= 2;
    wide.query *= 2;
    // SGLang's makes the rope before the projections (models/qwen3_next.py).
    if (place.settings().sglang_layers) make_rope(place);
    qkv_proj_ =
        qkv_linear(place / "qkv_proj", hidden, wide, {.bias = c.boolean("qkv_bias", false)});
    o_proj_ =
        std::make_unique<Linear>(place / "o_proj", heads.total * heads.size,
                                 std::vector<std::int64_t>{hidden}, LinearOptions{.cut = Cut::row});
    if (!rope_) make_rope(place);
    attn_ = std::make_unique<Attention>(place / "attn", heads);
    q_norm_.emplace(place / "q_norm", heads.size, NormKind::gemma);
    k_norm_.emplace(place / "k_norm", heads.size, NormKind::gemma);
  }

  Tensor forward(const Tensor& hidden_states) {
    const Tensor qkv = (*qkv_proj_)(hidden_states);
    const std::int64_t tokens = qkv.size(0);
    const Dims sizes{tokens, heads_.q_size()};
    const Tensor q = kernel_output("fused_qk_rmsnorm_rope_gate", sizes, qkv.dtype());
    const Tensor k =
        kernel_output("fused_qk_rmsnorm_rope_gate", {tokens, heads_.kv_size()}, qkv.dtype());
    const Tensor gate = kernel_output("fused_qk_rmsnorm_rope_gate", sizes, qkv.dtype());
    Tensor output = (*attn_)(q);
    {
      const Tensor weight = kernel_output("sigmoid", sizes, qkv.dtype());
      output = kernel_output("mul", sizes, qkv.dtype());
    }
    return (*o_proj_)(output);
  }

 private:
  void make_rope(const Place& place) {
    const std::int64_t positions = place.config().integer("max_position_embeddings", 32768);
    rope_ = get_rope(place / "rotary_emb", {.head_size = heads_.size, .max_position = positions},
                     RopeParameters::read(place.config()));
  }

  Heads heads_;
  std::unique_ptr<Linear> qkv_proj_, o_proj_;
  std::shared_ptr<RotaryEmbedding> rope_;
  std::unique_ptr<Attention> attn_;
  std::optional<RMSNorm> q_norm_, k_norm_;
};

std::int64_t time_step_rank(const Config& c, const char* key, std::int64_t hidden) {
  constexpr std::int64_t kShare = 16;
  if (c.json(key) == "\"auto\"") return ceil_div(hidden, kShare);
  return c.optional_dimension(key).value_or(ceil_div(hidden, kShare));
}

/// jamba.py: experts in every second layer, else a dense MLP.
Block jamba_feed_forward(const Place& layer, std::int64_t index, std::int64_t hidden) {
  const Config& c = layer.config();
  const std::int64_t width = c.dimension("intermediate_size");
  const std::int64_t experts = c.dimension("num_experts", 16);
  const bool sparse = experts > 1 && index % c.dimension("expert_layer_period", 2) ==
                                         c.integer("expert_layer_offset", 1);
  if (!sparse)
    return block_of(std::make_shared<GatedMlp>(layer / "feed_forward", hidden, width,
                                               MlpOptions{.drops_projection = true}));
  const ExpertShape shape(layer.runtime(), experts, c.dimension("num_experts_per_tok", 2), hidden,
                          width);
  return block_of(
      std::make_shared<MoeBlock>(layer / "feed_forward", shape, MoeOptions{.gate_name = "router"}));
}

/// granitemoehybrid.py: routed experts, a dense MLP that all tokens share, or both; the experts get
/// a copy.
Block granite_feed_forward(const Place& layer, std::int64_t hidden) {
  const Config& c = layer.config();
  const std::int64_t experts = c.integer("num_local_experts", 0);
  const std::int64_t width = c.integer("shared_intermediate_size", 0);
  Block routed, shared;
  if (experts > 0) {
    const ExpertShape shape(layer.runtime(), experts, c.dimension("num_experts_per_tok", 2), hidden,
                            c.dimension("intermediate_size"));
    routed = block_of(std::make_shared<MoeBlock>(layer / "block_sparse_moe", shape, MoeOptions{}));
  }
  if (width > 0)
    shared = block_of(std::make_shared<GatedMlp>(layer / "shared_mlp", hidden, width,
                                                 MlpOptions{.drops_projection = true}));
  if (!routed && !shared) return [](const Tensor& x) { return x; };
  if (!routed || !shared) return routed ? routed : shared;
  return [routed, shared](const Tensor& x) {
    Tensor moe = kernel_output("clone", x.sizes(), x.dtype());
    moe = routed(moe);
    const Tensor dense = shared(x);
    return kernel_output("add", x.sizes(), x.dtype());
  };
}

/// What JambaConfig and GraniteMoeHybridConfig call alike.
MambaShape hybrid_shape(const Place& layer, std::int64_t hidden, std::int64_t usual_state) {
  const Config& c = layer.config();
  MambaShape s;
  s.hidden = hidden;
  s.inner = c.dimension("mamba_expand", 2) * hidden;
  s.state = c.dimension("mamba_d_state", usual_state);
  s.kernel = c.dimension("mamba_d_conv", 4);
  s.conv_bias = c.boolean("mamba_conv_bias", true);
  s.bias = c.boolean("mamba_proj_bias", false);
  s.state_dtype = state_dtype(layer, "");
  return s;
}

/// GraniteMoeHybridConfig, whose heads divide what the mixer works on.
MambaShape granite_shape(const Place& layer, std::int64_t hidden) {
  const Config& c = layer.config();
  MambaShape s = hybrid_shape(layer, hidden, 256);
  s.groups = c.dimension("mamba_n_groups", 1);
  s.heads = c.dimension("mamba_n_heads", 128);
  if (s.inner % s.heads != 0) c.fail("mamba_n_heads", "does not divide mamba_expand * hidden_size");
  s.head_size = std::max<std::int64_t>(1, s.inner / s.heads);
  s.chunk = c.dimension("mamba_chunk_size", 256);
  return s;
}

/// Lfm2MLP: two thirds of the width that the configuration says, rounded up.
std::int64_t lfm2_width(const Config& c) {
  const std::int64_t width = c.dimension({"block_ff_dim", "intermediate_size"});
  if (!c.boolean("block_auto_adjust_ff_dim", true)) return width;
  const double factor = c.number("block_ffn_dim_multiplier", 1.0);
  const auto scaled = static_cast<std::int64_t>(static_cast<double>(2 * width / 3) * factor);
  return round_up(scaled, c.dimension("block_multiple_of", 256));
}

/// Whether layer_types, where there is such a list, says that this layer has full attention.
std::optional<bool> says_full_attention(const Config& c, std::int64_t index) {
  const std::size_t entries = c.texts("layer_types").size();
  if (entries == 0) return std::nullopt;
  if (static_cast<std::size_t>(index) >= entries)
    c.fail("layer_types", "has fewer entries than there are layers");
  return layer_type(c, index) == "full_attention";
}

bool lfm2_attends(const Config& c, std::int64_t index) {
  if (const auto says = says_full_attention(c, index)) return *says;
  const std::vector<std::int64_t> at = c.integers("full_attn_idxs");
  return at.empty() || std::ranges::find(at, index) != at.end();
}

/// A predictor's layer, behind the model's, has attention.
bool is_full_attention(const Config& c, std::int64_t index) {
  if (index >= c.layers("num_hidden_layers")) return true;
  if (const auto says = says_full_attention(c, index)) return *says;
  return (index + 1) % c.dimension("full_attention_interval", 4) == 0;
}

}  // namespace

std::unique_ptr<ServedModel> make_mamba(const Place& place) {
  const Config& c = place.config();
  MambaShape s;
  s.hidden = c.dimension("hidden_size");
  s.inner = c.optional_dimension("intermediate_size").value_or(s.hidden * c.dimension("expand", 2));
  s.state = c.dimension("state_size", 16);
  s.kernel = c.dimension("conv_kernel", 4);
  s.conv_bias = c.boolean("use_conv_bias", true);
  s.bias = c.boolean("use_bias", false);
  s.time_step_rank = time_step_rank(c, "time_step_rank", s.hidden);
  s.has_norms = type_of(c) == "falcon_mamba";
  s.norms_have_weights = false;
  s.state_dtype = state_dtype(place, "");
  return make_single_block_decoder(place, SingleBlockNames{"backbone", "embeddings"},
                                   c.layers("num_hidden_layers"),
                                   [s](const Place& mixer, std::int64_t) {
                                     return block_of(std::make_shared<MambaMixer>(mixer, s));
                                   });
}

std::unique_ptr<ServedModel> make_mamba2(const Place& place) {
  const Config& c = place.config();
  MambaShape s = mamba2_shape(c, c.dimension("hidden_size"));
  s.state_dtype = state_dtype(place, "");
  return make_single_block_decoder(place, SingleBlockNames{"backbone", "embeddings"},
                                   c.layers("num_hidden_layers"),
                                   [s](const Place& mixer, std::int64_t) {
                                     return block_of(std::make_shared<MambaMixer2>(mixer, s));
                                   });
}

std::unique_ptr<ServedModel> make_jamba(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    const std::int64_t hidden = c.dimension("hidden_size");
    Block mixer;
    if (index % c.dimension("attn_layer_period", 8) == c.integer("attn_layer_offset", 4)) {
      mixer = block_of(std::make_shared<AttentionBlock>(
          layer / "self_attn", hidden, config_heads(layer), AttentionBlockOptions{.rope = false}));
    } else {
      MambaShape s = hybrid_shape(layer, hidden, 16);
      s.time_step_rank = time_step_rank(c, "mamba_dt_rank", hidden);
      s.has_norms = true;
      mixer = block_of(std::make_shared<MambaMixer>(layer / "mamba", s));
    }
    return {mixer, jamba_feed_forward(layer, index, hidden)};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

std::unique_ptr<ServedModel> make_granite_hybrid(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    const std::int64_t hidden = c.dimension("hidden_size");
    Block mixer;
    if (layer_type(c, index) == "attention") {
      const bool turns = c.optional_text("position_embedding_type") == "rope";
      mixer = block_of(std::make_shared<AttentionBlock>(
          layer / "self_attn", hidden, config_heads(layer), AttentionBlockOptions{.rope = turns}));
    } else {
      mixer =
          block_of(std::make_shared<MambaMixer2>(layer / "mamba", granite_shape(layer, hidden)));
    }
    return {mixer, granite_feed_forward(layer, hidden)};
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::explicit_add});
}

std::unique_ptr<ServedModel> make_lfm2(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    const std::int64_t hidden = c.dimension("hidden_size");
    const Block mixer = lfm2_attends(c, index)
                            ? block_of(std::make_shared<AttentionBlock>(
                                  layer / "self_attn", hidden, config_heads(layer),
                                  AttentionBlockOptions{.qk_norm = true}))
                            : block_of(std::make_shared<ShortConv>(layer / "conv", hidden,
                                                                   c.dimension("conv_L_cache", 3),
                                                                   c.boolean("conv_bias", false)));
    return {mixer, block_of(std::make_shared<GatedMlp>(layer / "feed_forward", hidden,
                                                       lfm2_width(c), MlpOptions{}))};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

LayerBlocks qwen3_next_blocks(const Place& layer, std::int64_t index) {
  const Config& c = layer.config();
  const std::int64_t hidden = c.dimension("hidden_size");
  Block attention;
  if (is_full_attention(c, index)) {
    attention = block_of(
        std::make_shared<GatedAttention>(layer / "self_attn", hidden, config_heads(layer)));
  } else {
    DeltaNetShape s;
    s.hidden = hidden;
    s.key_heads = c.dimension("linear_num_key_heads", 16);
    s.value_heads = c.dimension("linear_num_value_heads", 32);
    s.key_size = c.dimension("linear_key_head_dim", 128);
    s.value_size = c.dimension("linear_value_head_dim", 128);
    s.kernel = c.dimension("linear_conv_kernel_dim", 4);
    s.interleaved = type_of(c) == "qwen3_next";
    s.state_dtype = state_dtype(layer, c.text("mamba_ssm_dtype", ""));
    attention = block_of(std::make_shared<GatedDeltaNet>(layer / "linear_attn", s));
  }
  return {attention, qwen_feed_forward(layer, index, false)};
}

std::unique_ptr<ServedModel> make_qwen3_next(const Place& place) {
  return make_stream_decoder(place, {.blocks = qwen3_next_blocks, .norm = NormKind::gemma});
}

}  // namespace memtape::vllm
