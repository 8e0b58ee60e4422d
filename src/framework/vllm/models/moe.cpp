// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/moe.h"

#include <algorithm>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mla.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/layers/sparse_mla.h"
#include "framework/vllm/models/decoder.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

struct ExpertCounts {
  std::int64_t experts, top_k, width;
};

ExpertShape expert_shape(const Place& place, const ExpertCounts& counts) {
  return {place.runtime(), counts.experts, counts.top_k, place.config().dimension("hidden_size"),
          counts.width};
}

/// Shared experts of a width, their output not yet reduced.
std::function<MoeBlock::Shared(const Place&)> shared_mlp(std::int64_t width, const char* name) {
  if (width == 0) return {};
  return [width, name](const Place& place) -> MoeBlock::Shared {
    auto mlp = std::make_shared<GatedMlp>(
        place / name, place.config().dimension("hidden_size"), width,
        MlpOptions{.reduce_results = false,
                   .is_replicated = cuts_tokens(place.runtime().parallel())});
    return block_of(mlp);
  };
}

Block attention_block(const Place& place, const AttentionBlockOptions& options) {
  return block_of(std::make_shared<AttentionBlock>(
      place / "self_attn", place.config().dimension("hidden_size"), config_heads(place), options));
}

Block dense_mlp(const Place& place, std::int64_t width) {
  return block_of(std::make_shared<GatedMlp>(place, place.config().dimension("hidden_size"), width,
                                             MlpOptions{}));
}

/// Qwen 2 MoE's shared expert is weighed by a gate of its own.
class GatedSharedExpert {
 public:
  GatedSharedExpert(const Place& place, std::int64_t hidden, std::int64_t width)
      : gate_(place / "shared_expert_gate", hidden, {1},
              {.cut = Cut::replicated, .quantized = false}),
        mlp_(place / "shared_expert", hidden, width,
             {.reduce_results = false, .is_replicated = cuts_tokens(place.runtime().parallel())}) {}
  Tensor operator()(const Tensor& x) {
    const Tensor out = mlp_(x);
    Tensor weight = gate_(x);
    weight = kernel_output("sigmoid", weight.sizes(), weight.dtype());
    return kernel_output("mul", out.sizes(), out.dtype());
  }

 private:
  Linear gate_;
  GatedMlp mlp_;
};

/// can_fuse_shared_expert of SGLang's models/qwen2_moe.py: a shared expert as wide as the others is
/// one of them, which every token takes. On CUDA Qwen3-Next alone asks for it (qwen3_next.py).
bool fuses_shared_expert(const Place& place, std::int64_t width) {
  const Config& c = place.config();
  return place.settings().sglang_layers && type_of(c) == "qwen3_next" &&
         width == c.integer("moe_intermediate_size", 0);
}

/// Its gate alone is left beside the experts.
MoeBlock::Shared shared_gate(const Place& mlp) {
  (mlp / "shared_expert_gate").parameter("weight", {1, mlp.config().dimension("hidden_size")});
  return {};
}

}  // namespace

Block qwen_feed_forward(const Place& layer, std::int64_t index, bool quantized_gate) {
  const Config& c = layer.config();
  const std::vector<std::int64_t> dense = c.integers("mlp_only_layers");
  const std::int64_t step = c.dimension("decoder_sparse_step", 1);
  const bool sparse = std::ranges::find(dense, index) == dense.end() &&
                      c.integer("num_experts", 0) > 0 && (index + 1) % step == 0;
  if (!sparse) return dense_mlp(layer / "mlp", c.dimension("intermediate_size"));
  const std::int64_t shared = c.optional_integer("shared_expert_intermediate_size").value_or(0);
  std::function<MoeBlock::Shared(const Place&)> make_shared;
  if (shared > 0)
    make_shared = [shared](const Place& mlp) -> MoeBlock::Shared {
      auto expert =
          std::make_shared<GatedSharedExpert>(mlp, mlp.config().dimension("hidden_size"), shared);
      return [expert](const Tensor& x) { return (*expert)(x); };
    };
  ExpertShape shape =
      expert_shape(layer, {c.dimension("num_experts"), c.dimension("num_experts_per_tok"),
                           c.dimension("moe_intermediate_size")});
  if (shared > 0 && fuses_shared_expert(layer, shared)) {
    ++shape.local_experts;
    ++shape.top_k;
    make_shared = shared_gate;
  }
  return block_of(std::make_shared<MoeBlock>(
      layer / "mlp", shape, MoeOptions{.quantized_gate = quantized_gate}, make_shared));
}

std::unique_ptr<ServedModel> make_mixtral(const Place& place) {
  return make_stream_decoder(
      place, {.blocks = [](const Place& layer, std::int64_t) -> LayerBlocks {
        const Config& c = layer.config();
        Block attention = attention_block(layer, {});
        const ExpertShape shape = expert_shape(
            layer, {c.dimension("num_local_experts", 8), c.dimension("num_experts_per_tok", 2),
                    c.dimension("intermediate_size")});
        return {attention, block_of(std::make_shared<MoeBlock>(layer / "block_sparse_moe", shape,
                                                               MoeOptions{}))};
      }});
}

std::unique_ptr<ServedModel> make_phimoe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention = attention_block(layer, {.qkv_bias = true, .output_bias = true});
    const ExpertShape shape = expert_shape(
        layer, {c.dimension("num_local_experts", 16), c.dimension("num_experts_per_tok", 2),
                c.dimension("intermediate_size")});
    return {attention, block_of(std::make_shared<MoeBlock>(layer / "block_sparse_moe", shape,
                                                           MoeOptions{.sparse_mixer = true}))};
  };
  return make_stream_decoder(place, {.blocks = blocks,
                                     .form = LayerForm::plain_add,
                                     .layer_norm = true,
                                     .head_bias = place.config().boolean("lm_head_bias", false)});
}

std::unique_ptr<ServedModel> make_qwen3_moe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    const bool third = type_of(c).starts_with("qwen3");
    Block attention = attention_block(layer, {.qkv_bias = third ? c.boolean("attention_bias", false)
                                                                : c.boolean("qkv_bias", true),
                                              .qk_norm = third,
                                              .norm_last = true});
    return {attention, qwen_feed_forward(layer, index, third)};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

LayerBlocks glm4_moe_blocks(const Place& layer, std::int64_t index) {
  const Config& c = layer.config();
  Block attention = attention_block(layer, {.qkv_bias = c.boolean("attention_bias", false),
                                            .qk_norm = c.boolean("use_qk_norm", false),
                                            .norm_last = true,
                                            .partial_rotary_factor = 0.5});
  if (index < c.count("first_k_dense_replace", 0))
    return {attention, dense_mlp(layer / "mlp", c.dimension("intermediate_size"))};
  const std::int64_t width = c.dimension("moe_intermediate_size");
  const ExpertShape shape = expert_shape(
      layer, {c.dimension("n_routed_experts"), c.dimension("num_experts_per_tok"), width});
  return {attention,
          block_of(std::make_shared<MoeBlock>(
              layer / "mlp", shape, MoeOptions{.score_bias = true, .gate_dtype = DType::float32},
              shared_mlp(width * c.count("n_shared_experts", 0), "shared_experts")))};
}

std::unique_ptr<ServedModel> make_glm4_moe(const Place& place) {
  return make_stream_decoder(place, {.blocks = glm4_moe_blocks});
}

std::unique_ptr<ServedModel> make_ernie45_moe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention = attention_block(layer, {.qkv_bias = c.boolean("use_bias", false),
                                              .output_bias = c.boolean("use_bias", false)});
    const std::int64_t first = c.integer("moe_layer_start_index", 0);
    const std::int64_t layers = c.layers("num_hidden_layers");
    const std::int64_t last = c.optional_integer("moe_layer_end_index").value_or(layers - 1);
    const std::int64_t interval = c.dimension("moe_layer_interval", 1);
    const bool sparse =
        (index + 1) % interval == 0 && index >= first && index <= (last < 0 ? layers - 1 : last);
    if (!sparse) return {attention, dense_mlp(layer / "mlp", c.dimension("intermediate_size"))};
    const std::int64_t width = c.dimension("moe_intermediate_size");
    const ExpertShape shape =
        expert_shape(layer, {c.dimension("moe_num_experts"), c.dimension("moe_k", 2), width});
    return {attention,
            block_of(std::make_shared<MoeBlock>(
                layer / "mlp", shape, MoeOptions{.score_bias = true, .gate_dtype = DType::float32},
                shared_mlp(width * c.count("moe_num_shared_experts", 0), "shared_experts")))};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

namespace {

/// Deepseek v1 has ordinary attention, V3.2 and what follows it a sparse one.
Block deepseek_attention(const Place& layer, std::int64_t index) {
  const Config& c = layer.config();
  if (type_of(c) == "deepseek") return attention_block(layer, {});
  if (has_sparse_attention(c))
    return block_of(std::make_shared<SparseMlaAttention>(layer / "self_attn", index));
  return block_of(std::make_shared<MlaAttention>(layer / "self_attn"));
}

}  // namespace

LayerBlocks deepseek_blocks(const Place& layer, std::int64_t index) {
  const Config& c = layer.config();
  Block attention = deepseek_attention(layer, index);
  const bool sparse = !c.is_null("n_routed_experts") &&
                      index >= c.count("first_k_dense_replace", 0) &&
                      index % c.dimension("moe_layer_freq", 1) == 0;
  if (!sparse) return {attention, dense_mlp(layer / "mlp", c.dimension("intermediate_size"))};
  const std::int64_t width = c.dimension("moe_intermediate_size");
  const ExpertShape shape = expert_shape(
      layer, {c.dimension("n_routed_experts"), c.dimension("num_experts_per_tok"), width});
  const std::int64_t shared = c.optional_integer("n_shared_experts").value_or(0);
  return {attention, block_of(std::make_shared<MoeBlock>(
                         layer / "mlp", shape,
                         MoeOptions{.score_bias = c.text("topk_method", "") == "noaux_tc"},
                         shared_mlp(width * shared, "shared_experts")))};
}

std::unique_ptr<ServedModel> make_deepseek(const Place& place) {
  const bool chooses_tokens = has_sparse_attention(place.config());
  if (chooses_tokens) make_topk_buffer(place);
  return make_stream_decoder(place,
                             {.blocks = deepseek_blocks, .fuses_first_norm = chooses_tokens});
}

std::unique_ptr<ServedModel> make_minimax_m2(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) -> LayerBlocks {
    const Config& c = layer.config();
    const double part = static_cast<double>(c.integer("rotary_dim", 64)) /
                        static_cast<double>(config_heads(layer).size);
    Block attention = attention_block(layer, {.qkv_bias = c.boolean("attention_bias", false),
                                              .qk_norm = true,
                                              .norm_last = true,
                                              .partial_rotary_factor = part,
                                              .full_width_norms = true,
                                              .float32_norms = true});
    const ExpertShape shape =
        expert_shape(layer, {c.dimension("num_local_experts"), c.dimension("num_experts_per_tok"),
                             c.dimension("intermediate_size")});
    return {attention, block_of(std::make_shared<MoeBlock>(
                           layer / "block_sparse_moe", shape,
                           MoeOptions{.score_bias = c.boolean("use_routing_bias", false),
                                      .gate_dtype = DType::float32}))};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

std::unique_ptr<ServedModel> make_olmoe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention = attention_block(layer, {.qk_norm = true, .full_width_norms = true});
    const ExpertShape shape =
        expert_shape(layer, {c.dimension("num_experts", 64), c.dimension("num_experts_per_tok", 8),
                             c.dimension("intermediate_size")});
    return {attention, block_of(std::make_shared<MoeBlock>(layer / "mlp", shape, MoeOptions{}))};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

std::unique_ptr<ServedModel> make_granite_moe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention = attention_block(layer, {});
    const ExpertShape shape = expert_shape(
        layer, {c.dimension("num_local_experts", 8), c.dimension("num_experts_per_tok", 2),
                c.dimension("intermediate_size")});
    return {attention,
            block_of(std::make_shared<MoeBlock>(layer / "block_sparse_moe", shape, MoeOptions{}))};
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::explicit_add});
}

namespace {

/// BailingAttention; `rotary_dim` says how much of a head turns.
Block bailing_attention(const Place& layer) {
  const Config& c = layer.config();
  const bool bias = c.boolean("use_bias", false);
  const Heads heads = config_heads(layer);
  std::optional<double> part;
  if (const auto turned = c.optional_integer("rotary_dim"))
    part = static_cast<double>(*turned) / static_cast<double>(heads.size);
  return block_of(std::make_shared<AttentionBlock>(
      layer / "attention", c.dimension("hidden_size"), heads,
      AttentionBlockOptions{.qkv_bias = bias || c.boolean("use_qkv_bias", false),
                            .output_bias = bias,
                            .qk_norm = c.boolean("use_qk_norm", false),
                            .partial_rotary_factor = part,
                            .names = {"query_key_value", "dense", "attn"}}));
}

MoeOptions bailing_router(const Config& c) {
  MoeOptions options{.score_bias = c.boolean("moe_router_enable_expert_bias", false)};
  if (const std::string dtype = c.text("router_dtype", ""); !dtype.empty())
    options.gate_dtype = dtype == "fp32" ? DType::float32 : DType::bfloat16;
  return options;
}

}  // namespace

std::unique_ptr<ServedModel> make_bailing_moe(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention = bailing_attention(layer);
    if (index < c.count("first_k_dense_replace", 0))
      return {attention, dense_mlp(layer / "mlp", c.dimension("intermediate_size"))};
    const std::int64_t width = c.dimension("moe_intermediate_size");
    const std::int64_t shared =
        c.optional_dimension("moe_shared_expert_intermediate_size").value_or(width);
    const ExpertShape shape = expert_shape(
        layer, {c.dimension("num_experts"), c.dimension("num_experts_per_tok"), width});
    return {attention,
            block_of(std::make_shared<MoeBlock>(
                layer / "mlp", shape, bailing_router(c),
                shared_mlp(shared * c.count("num_shared_experts", 0), "shared_experts")))};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

std::unique_ptr<ServedModel> make_gpt_oss(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) -> LayerBlocks {
    const Config& c = layer.config();
    Block attention =
        attention_block(layer, {.qkv_bias = true,
                                .output_bias = true,
                                .sinks = true,
                                .rope_first = true,
                                .window = index % 2 == 0 ? c.integer("sliding_window", 128) : 0});
    ExpertShape shape =
        expert_shape(layer, {c.dimension({"num_local_experts", "num_experts"}),
                             c.dimension({"num_experts_per_tok", "experts_per_token"}),
                             c.dimension("intermediate_size")});
    shape.bias = true;
    return {attention,
            block_of(std::make_shared<MoeBlock>(
                layer / "mlp", shape, MoeOptions{.gate_bias = true, .gate_name = "router"}))};
  };
  return make_stream_decoder(place, {.blocks = blocks, .norms_first = true});
}

}  // namespace memtape::vllm
