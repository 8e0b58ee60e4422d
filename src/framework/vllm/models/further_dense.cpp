// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/further_dense.h"

#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

bool has_bias(const Config& config) { return config.boolean({"attention_bias", "bias"}, false); }

/// ApertusMLP: a plain block around xIELU (activation.py), whose Python form Inductor makes one
/// kernel of.
class XieluMlp : public nn::Module<XieluMlp> {
 public:
  XieluMlp(const Place& place, std::int64_t hidden, std::int64_t width, bool bias)
      : Module(place.scope()),
        is_fused_(place.settings().compiles),
        up_(place / "up_proj", hidden, {width}, {.bias = bias}),
        down_(place / "down_proj", width, {hidden}, {.cut = Cut::row, .bias = bias}) {
    const Place act = place / "act_fn";
    for (const char* name : {"alpha_p", "alpha_n"}) act.parameter(name, {1}, DType::bfloat16);
    for (const char* name : {"beta", "eps"})
      act.scope().buffer(name, kernel_output("tensor", {}, DType::bfloat16));
  }

  Tensor forward(const Tensor& input) {
    Tensor x = up_(input);
    x = activated(x);
    return down_(x);
  }

 private:
  Tensor activated(const Tensor& x) const {
    const auto made = [&](const char* op) { return kernel_output(op, x.sizes(), x.dtype()); };
    if (is_fused_) return made("xielu");
    const Tensor is_above = kernel_output("gt", x.sizes(), DType::boolean);
    Tensor above = made("mul");
    above = made("mul");
    {
      const Tensor scaled = made("mul");
      above = made("add");
    }
    Tensor below = made("minimum");
    for (const char* op : {"expm1", "sub", "mul"}) below = made(op);
    {
      const Tensor scaled = made("mul");
      below = made("add");
    }
    return made("where");
  }

  bool is_fused_;
  Linear up_, down_;
};

}  // namespace

std::unique_ptr<ServedModel> make_apertus(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) {
    const Config& config = layer.config();
    const std::int64_t hidden = config.dimension("hidden_size");
    const bool bias = has_bias(config);
    const auto attention = std::make_shared<AttentionBlock>(
        layer / "self_attn", hidden, config_heads(layer),
        AttentionBlockOptions{.qkv_bias = bias,
                              .output_bias = bias,
                              .qk_norm = true,
                              .norm_last = true,
                              .window = layer_window(config, index)});
    const auto mlp =
        std::make_shared<XieluMlp>(layer / "mlp", hidden, config.dimension("intermediate_size"),
                                   config.boolean("mlp_bias", false));
    return LayerBlocks{block_of(attention), block_of(mlp)};
  };
  return make_stream_decoder(place, {.blocks = blocks});
}

std::unique_ptr<ServedModel> make_glm4(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) {
    constexpr double kRotaryPart = 0.5;
    return dense_blocks(layer,
                        {.qkv_bias = layer.config().boolean("attention_bias", false),
                         .partial_rotary_factor = kRotaryPart},
                        {.drops_projection = true});
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::sandwich});
}

std::unique_ptr<ServedModel> make_exaone(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) {
    const bool bias = has_bias(layer.config());
    return dense_blocks(
        layer, {.qkv_bias = bias, .output_bias = bias, .names = {"qkv_proj", "out_proj", "attn"}},
        {.bias = layer.config().boolean("mlp_bias", false)});
  };
  return make_stream_decoder(place, {.blocks = blocks, .layers_name = "h"});
}

std::unique_ptr<ServedModel> make_exaone4(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) {
    const Config& config = layer.config();
    const bool bias = has_bias(config);
    const std::int64_t window = layer_window(config, index);
    return dense_blocks(layer,
                        {.qkv_bias = bias,
                         .output_bias = bias,
                         .qk_norm = true,
                         .window = window > 0 ? window : AttentionOptions::kFull},
                        {.bias = config.boolean("mlp_bias", false)});
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::post_norm});
}

}  // namespace memtape::vllm
