// SPDX-License-Identifier: Apache-2.0
// DINOv2 for image classification: ViT with norms before each branch and a scale behind it, and a
// head on the class token beside the mean of the others; mirroring transformers 5.17
// models/dinov2/modeling_dinov2.py.
#include <optional>
#include <vector>

#include "family/facts.h"
#include "family/parts/attention_interface.h"
#include "family/parts/clip_mlp.h"
#include "family/parts/vit_embeddings.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "nn/checkpointing.h"
#include "nn/layer_frame.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

struct Dinov2Config : ViTConfig {
  Dinov2Config(const Config& c, const ModelOptions& options)
      : ViTConfig(c, options, 14), use_swiglu_ffn(c.boolean("use_swiglu_ffn", false)) {
    head_dim = hidden_size / num_attention_heads;
    intermediate_size = hidden_size * c.dimension("mlp_ratio", 4);
    has_mask_token = c.boolean("use_mask_token", true);
    if (c.number("drop_path_rate", 0.0) > 0.0) c.fail("drop_path_rate", "is not modelled: use 0");
    if (image.height != image.width) c.fail("image_size", "only square images are modelled");
  }
  bool use_swiglu_ffn;
};

class Dinov2SelfAttention : public nn::Module<Dinov2SelfAttention> {
 public:
  Dinov2SelfAttention(const nn::Scope& scope, const Dinov2Config& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_probs_dropout_prob,
              .is_causal = false,
              .eager_softmax = EagerSoftmax::plain},
        attention_head_size_(c.head_dim),
        query_(scope / "query", c.hidden_size, c.hidden_size, c.qkv_bias),
        key_(scope / "key", c.hidden_size, c.hidden_size, c.qkv_bias),
        value_(scope / "value", c.hidden_size, c.hidden_size, c.qkv_bias) {}

  Tensor forward(const Tensor& hidden_states) {
    const Dims new_shape = hidden_states.sizes().leading().with(-1).with(attention_head_size_);
    const Tensor key_layer = key_(hidden_states).view(new_shape).transpose(1, 2);
    const Tensor value_layer = value_(hidden_states).view(new_shape).transpose(1, 2);
    const Tensor query_layer = query_(hidden_states).view(new_shape).transpose(1, 2);
    Tensor context_layer = attention_interface(call_, query_layer, key_layer, value_layer, {});
    context_layer = context_layer.reshape(hidden_states.sizes());
    return context_layer;
  }

 private:
  AttentionCall call_;
  std::int64_t attention_head_size_;
  nn::Linear query_, key_, value_;
};

class Dinov2Attention : public nn::Module<Dinov2Attention> {
 public:
  Dinov2Attention(const nn::Scope& scope, const Dinov2Config& c)
      : Module(scope),
        attention_(scope / "attention", c),
        dense_(scope / "output" / "dense", c.hidden_size, c.hidden_size),
        dropout_(scope / "output" / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& hidden_states) {
    const nn::LayerFrame frame;  // its weights go with it
    const Tensor self_attn_output = attention_(hidden_states);
    return dropout_(dense_(self_attn_output));
  }

 private:
  Dinov2SelfAttention attention_;
  nn::Linear dense_;
  nn::Dropout dropout_;
};

class Dinov2LayerScale : public nn::Module<Dinov2LayerScale> {
 public:
  Dinov2LayerScale(const nn::Scope& scope, const Dinov2Config& c)
      : Module(scope), lambda1_(scaled_ones(scope, c.hidden_size)) {}

  Tensor forward(const Tensor& hidden_state) { return hidden_state.mul(lambda1_); }

 private:
  /// config.layerscale_value * torch.ones(...)
  static Tensor scaled_ones(const nn::Scope& scope, std::int64_t size) {
    const Tensor ones = ghost::ones({size}, scope.dtype());
    return scope.parameter("lambda1", {size});
  }

  Tensor lambda1_;
};

class Dinov2SwiGLUFFN : public nn::Module<Dinov2SwiGLUFFN> {
 public:
  Dinov2SwiGLUFFN(const nn::Scope& scope, const Dinov2Config& c)
      : Module(scope),
        weights_in_(scope / "weights_in", c.hidden_size, 2 * hidden_features(c)),
        weights_out_(scope / "weights_out", hidden_features(c), c.hidden_size) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_state = weights_in_(x);
    const std::vector<Tensor> halves = hidden_state.chunk(2, -1);
    const Tensor hidden = ghost::silu(halves[0]).mul(halves[1]);
    return weights_out_(hidden);
  }

 private:
  static std::int64_t hidden_features(const Dinov2Config& c) {
    return (c.intermediate_size * 2 / 3 + 7) / 8 * 8;
  }

  nn::Linear weights_in_, weights_out_;
};

class Dinov2Layer : public nn::GradientCheckpointingLayer<Dinov2Layer> {
 public:
  Dinov2Layer(const nn::Scope& scope, const Dinov2Config& c)
      : GradientCheckpointingLayer(scope),
        norm1_(scope / "norm1", c.hidden_size),
        attention_(scope / "attention", c),
        layer_scale1_(scope / "layer_scale1", c),
        norm2_(scope / "norm2", c.hidden_size) {
    if (c.use_swiglu_ffn)
      swiglu_.emplace(scope / "mlp", c);
    else
      mlp_.emplace(scope / "mlp", c);
    layer_scale2_.emplace(scope / "layer_scale2", c);
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_norm = norm1_(x);
    Tensor self_attention_output = attention_(hidden_states_norm);
    self_attention_output = layer_scale1_(self_attention_output);
    const Tensor hidden_states = self_attention_output.add(x);
    Tensor layer_output = norm2_(hidden_states);
    layer_output = swiglu_ ? (*swiglu_)(layer_output) : (*mlp_)(layer_output);
    layer_output = (*layer_scale2_)(layer_output);
    layer_output = layer_output.add(hidden_states);
    return layer_output;
  }

 private:
  nn::LayerNorm norm1_;
  Dinov2Attention attention_;
  Dinov2LayerScale layer_scale1_;
  nn::LayerNorm norm2_;
  std::optional<ClipMLP> mlp_;
  std::optional<Dinov2SwiGLUFFN> swiglu_;
  std::optional<Dinov2LayerScale> layer_scale2_;
};

class Dinov2Model : public nn::Module<Dinov2Model> {
 public:
  Dinov2Model(const nn::Scope& scope, const Dinov2Config& c)
      : Module(scope),
        embeddings_(scope / "embeddings", c),
        layer_(scope / "encoder" / "layer", c.num_hidden_layers, c),
        layernorm_(scope / "layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& pixel_values) {
    const Tensor embedding_output = embeddings_(pixel_values);
    const Tensor hidden_states = nn::run_layers(
        layer_, embedding_output, 1,
        [](Dinov2Layer& layer_module, std::size_t, const Tensor& x) { return layer_module(x); });
    return layernorm_(hidden_states);
  }

 private:
  ViTEmbeddings embeddings_;
  nn::ModuleList<Dinov2Layer> layer_;
  nn::LayerNorm layernorm_;
};

class Dinov2ForImageClassification : public PretrainedModel {
 public:
  Dinov2ForImageClassification(const Dinov2Config& c, const ModelOptions& options)
      : PretrainedModel(options),
        sample_(image_sample(c)),
        dinov2_(root() / "dinov2", c),
        classifier_(root() / "classifier", 2 * c.hidden_size, c.num_labels) {}

  std::string_view output_embeddings() const override { return {}; }
  SampleSizes sample_sizes(std::int64_t) const override { return sample_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = dinov2_(batch.pixel_values);
    const Tensor cls_token = sequence_output.select(1, 0);
    const Tensor patch_tokens = sequence_output.slice(1, 1, sequence_output.size(1));
    const Tensor linear_input = ghost::cat({cls_token, patch_tokens.mean(1, false)}, 1);
    Tensor logits = classifier_(linear_input);
    Tensor loss = ghost::cross_entropy(logits.view({-1, logits.size(-1)}), batch.labels.view({-1}));
    return {std::move(loss), std::move(logits)};
  }

 private:
  SampleSizes sample_;
  Dinov2Model dinov2_;
  nn::Linear classifier_;
};

ModelPointer build_dinov2(const Config& c, const ModelOptions& options) {
  return build_checked<Dinov2ForImageClassification>(c, Dinov2Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kDinov2{.model_type = "dinov2",
                                 .task = Task::image_classification,
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = kEncoder,
                                 .build = build_dinov2};

}  // namespace memtape::family
