// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/llama4.h"

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/models/decoder.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// Llama4TextConfig: every fourth layer has no rope where the file does not say.
bool has_rope(const Config& config, std::int64_t index) {
  constexpr std::int64_t kInterval = 4;
  const std::vector<std::int64_t> layers = config.integers("no_rope_layers");
  const auto at = static_cast<std::size_t>(index);
  return at < layers.size() ? layers[at] != 0
                            : (index + 1) % config.dimension("no_rope_layer_interval", kInterval);
}

class Llama4Attention : public nn::Module<Llama4Attention> {
 public:
  Llama4Attention(const Place& place, std::int64_t index)
      : Module(place.scope()), runtime_(place.runtime()), heads_(config_heads(place)) {
    const Config& c = place.config();
    const std::int64_t hidden = c.dimension("hidden_size");
    const bool rotates = has_rope(c, index);
    if (rotates && c.boolean("use_qk_norm", true))
      qk_norm_ = std::make_unique<RMSNorm>(place / "qk_norm", heads_.size, NormKind::rms, false);
    scales_query_ = !rotates && c.boolean("attn_temperature_tuning", true);
    qkv_proj_ = qkv_linear(place / "qkv_proj", hidden, heads_, {});
    o_proj_ =
        std::make_unique<Linear>(place / "o_proj", heads_.total * heads_.size,
                                 std::vector<std::int64_t>{hidden}, LinearOptions{.cut = Cut::row});
    if (rotates)
      rotary_ = get_rope(
          place / "rotary_emb",
          {.head_size = heads_.size, .max_position = c.integer("max_position_embeddings", 8192)},
          RopeParameters::read(c));
    const std::int64_t chunk = rotates ? c.integer("attention_chunk_size", 8192) : 0;
    attn_ = std::make_unique<Attention>(
        place / "attn", heads_,
        AttentionOptions{.window = chunk > 0 ? chunk : AttentionOptions::kFull,
                         .chunked_local = chunk > 0});
  }

  Tensor forward(const Tensor& hidden_states) {
    const Tensor qkv = (*qkv_proj_)(hidden_states);
    Tensor q = qkv.slice(-1, 0, heads_.q_size());
    Tensor k = qkv.slice(-1, heads_.q_size(), heads_.q_size() + heads_.kv_size());
    if (rotary_) rotary_->rotate(q, k);
    if (qk_norm_) {
      q = normed(q);
      k = normed(k);
    }
    Tensor attn_scale;
    if (scales_query_) {
      attn_scale = temperature(q.size(0));
      const Tensor scaled = kernel_output("mul", q.sizes(), DType::float32);
      q = kernel_output("to", q.sizes(), q.dtype());
    }
    const Tensor attn_output = (*attn_)(q);
    return (*o_proj_)(attn_output);
  }

 private:
  /// A copy by heads, in float32, and back.
  Tensor normed(const Tensor& x) {
    const Tensor by_head = kernel_output("reshape", x.sizes(), x.dtype());
    Tensor norm;
    {
      const Tensor wide = kernel_output("to", x.sizes(), DType::float32);
      norm = (*qk_norm_)(wide);
    }
    return kernel_output("to", x.sizes(), x.dtype());
  }
  /// _get_attn_scale: log(floor((positions + 1) / floor_scale) + 1) * attn_scale + 1.
  static Tensor temperature(std::int64_t tokens) {
    const auto op = [&](const char* name) { return kernel_output(name, {tokens}, DType::float32); };
    Tensor floor = op("add");
    floor = op("div");
    floor = op("floor");
    Tensor scale = op("add");
    for (const char* name : {"log", "mul", "add"}) scale = op(name);
    return scale;
  }

  Runtime& runtime_;
  Heads heads_;
  bool scales_query_ = false;
  std::unique_ptr<RMSNorm> qk_norm_;
  std::unique_ptr<Linear> qkv_proj_, o_proj_;
  std::shared_ptr<RotaryEmbedding> rotary_;
  std::unique_ptr<Attention> attn_;
};

Block feed_forward(const Place& place, std::int64_t index) {
  const Config& c = place.config();
  const std::int64_t hidden = c.dimension("hidden_size");
  const std::int64_t step = c.integer("interleave_moe_layer_step", 1);
  if (step <= 0 || (index + 1) % step != 0)
    return block_of(std::make_shared<GatedMlp>(place, hidden, c.dimension("intermediate_size_mlp"),
                                               MlpOptions{.drops_projection = true}));
  const std::int64_t width = c.dimension("intermediate_size");
  const ExpertShape shape(place.runtime(), c.dimension("num_local_experts"),
                          c.dimension("num_experts_per_tok", 1), hidden, width);
  const auto make_shared = [hidden, width](const Place& moe) -> MoeBlock::Shared {
    return block_of(
        std::make_shared<GatedMlp>(moe / "shared_expert", hidden, width,
                                   MlpOptions{.reduce_results = false, .drops_projection = true}));
  };
  return block_of(std::make_shared<MoeBlock>(
      place, shape, MoeOptions{.gate_name = "router", .weighs_input = true}, make_shared));
}

}  // namespace

std::unique_ptr<ServedModel> make_llama4(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Block attention = block_of(std::make_shared<Llama4Attention>(layer / "self_attn", index));
    return {attention, feed_forward(layer / "feed_forward", index)};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

}  // namespace memtape::vllm
