// SPDX-License-Identifier: Apache-2.0
// ViT for image classification: patches as tokens behind one for the class, learned positions, and
// a head on that first token; mirroring transformers 5.17 models/vit/modeling_vit.py.
#include "family/activations.h"
#include "family/attention_interface.h"
#include "family/clip_mlp.h"
#include "family/config_checks.h"
#include "family/families.h"
#include "family/image_sizes.h"
#include "family/masking.h"
#include "ghost/ops/cudnn_convolution.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/loss.h"
#include "nn/checkpointing.h"
#include "nn/convolution.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

struct ViTConfig {
  ViTConfig(const Config& c, const ModelOptions& options)
      : hidden_size(c.dimension("hidden_size", 768)),
        num_hidden_layers(c.layers("num_hidden_layers", 12)),
        num_attention_heads(c.dimension("num_attention_heads", 12)),
        head_dim(c.dimension("head_dim", hidden_size / num_attention_heads)),
        intermediate_size(c.dimension("intermediate_size", 3072)),
        num_channels(c.dimension("num_channels", 3)),
        num_labels(read_num_labels(c)),
        image(image_sides(c, "image_size", 224)),
        patch(image_sides(c, "patch_size", 16)),
        hidden_act(activation(c, "hidden_act", "gelu")),
        hidden_dropout_prob(c.number("hidden_dropout_prob", 0.0)),
        attention_probs_dropout_prob(c.number("attention_probs_dropout_prob", 0.0)),
        qkv_bias(c.boolean("qkv_bias", true)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    if (patch.height != patch.width) c.fail("patch_size", "only square patches are modelled");
    if (num_patches() < 1) c.fail("patch_size", "must be at most image_size");
  }

  std::int64_t num_patches() const {
    return (image.height / patch.height) * (image.width / patch.width);
  }

  std::int64_t hidden_size, num_hidden_layers, num_attention_heads, head_dim, intermediate_size,
      num_channels, num_labels;
  ImageSides image, patch;
  nn::Activation hidden_act;
  double hidden_dropout_prob, attention_probs_dropout_prob;
  bool qkv_bias;
  AttentionImplementation attention;

 private:
  /// PreTrainedConfig's: as many as id2label names, else 2.
  static std::int64_t read_num_labels(const Config& c) {
    const auto named = static_cast<std::int64_t>(c.object("id2label").keys().size());
    const std::int64_t labels = c.dimension("num_labels", named > 0 ? named : 2);
    if (labels == 1) c.fail("num_labels", "regression is not modelled, must be 2 or more");
    return labels;
  }
};

class ViTEmbeddings : public nn::Module<ViTEmbeddings> {
 public:
  ViTEmbeddings(const nn::Scope& scope, const ViTConfig& c)
      : Module(scope),
        cls_token_(scope.parameter("cls_token", {1, 1, c.hidden_size})),
        patch_size_(c.patch.height),
        projection_(scope / "patch_embeddings" / "projection",
                    Dims{c.hidden_size, c.num_channels, c.patch.height, c.patch.width}, true),
        position_embeddings_(
            scope.parameter("position_embeddings", {1, c.num_patches() + 1, c.hidden_size})),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& pixel_values) {
    Tensor embeddings = patch_embeddings(pixel_values);
    const Tensor cls_tokens = cls_token_.expand({pixel_values.size(0), 1, cls_token_.size(2)});
    embeddings = ghost::cat({cls_tokens, embeddings}, 1);
    embeddings = embeddings.add(position_embeddings_);
    embeddings = dropout_(embeddings);
    return embeddings;
  }

 private:
  /// ViTPatchEmbeddings: the projection, flattened and transposed.
  Tensor patch_embeddings(const Tensor& pixel_values) {
    const ghost::ScopeGuard guard(projection_.node().scope);
    Tensor patches = ghost::cudnn_convolution(pixel_values, projection_.weight, projection_.bias,
                                              patch_size_, 0);
    const Dims flat{patches.size(0), patches.size(1), -1};
    return std::move(patches).reshape(flat).transpose(1, 2);
  }

  Tensor cls_token_;
  std::int64_t patch_size_;
  nn::Convolution projection_;
  Tensor position_embeddings_;
  nn::Dropout dropout_;
};

class ViTAttention : public nn::Module<ViTAttention> {
 public:
  ViTAttention(const nn::Scope& scope, const ViTConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_probs_dropout_prob,
              .is_causal = false},
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    const Tensor query_states = q_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor key_states = k_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    attn_output = o_proj_(attn_output);
    return attn_output;
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

class ViTLayer : public nn::GradientCheckpointingLayer<ViTLayer> {
 public:
  ViTLayer(const nn::Scope& scope, const ViTConfig& c)
      : GradientCheckpointingLayer(scope),
        attention_(scope / "attention", c),
        layernorm_before_(scope / "layernorm_before", c.hidden_size),
        layernorm_after_(scope / "layernorm_after", c.hidden_size),
        mlp_(scope / "mlp", c),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor residual = x;
    Tensor hidden_states = layernorm_before_(x);
    hidden_states = attention_(hidden_states, attention_mask);
    hidden_states = dropout_(hidden_states);
    hidden_states = hidden_states.add(residual);

    residual = hidden_states;
    hidden_states = layernorm_after_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = dropout_(hidden_states);
    hidden_states = hidden_states.add(residual);
    return hidden_states;
  }

 private:
  ViTAttention attention_;
  nn::LayerNorm layernorm_before_, layernorm_after_;
  ClipMLP mlp_;
  nn::Dropout dropout_;
};

class ViTModel : public nn::Module<ViTModel> {
 public:
  ViTModel(const nn::Scope& scope, const ViTConfig& c)
      : Module(scope),
        attention_(c.attention),
        embeddings_(scope / "embeddings", c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        layernorm_(scope / "layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& pixel_values) {
    const Tensor embedding_output = embeddings_(pixel_values);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = attention_, .attention_mask = {}}, embedding_output);
    const Tensor hidden_states = nn::run_layers(
        layers_, embedding_output, 1,
        [&](ViTLayer& layer, std::size_t, const Tensor& x) { return layer(x, attention_mask); });
    return layernorm_(hidden_states);
  }

 private:
  AttentionImplementation attention_;
  ViTEmbeddings embeddings_;
  nn::ModuleList<ViTLayer> layers_;
  nn::LayerNorm layernorm_;
};

class ViTForImageClassification : public PretrainedModel {
 public:
  ViTForImageClassification(const ViTConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        sample_{.pixel_values = Dims{c.num_channels, c.image.height, c.image.width},
                .input_features = {},
                .input_ids = {},
                .labels = Dims{}},
        vit_(root() / "vit", c),
        classifier_(root() / "classifier", c.hidden_size, c.num_labels) {}

  std::string_view output_embeddings() const override { return {}; }
  SampleSizes sample_sizes(std::int64_t) const override { return sample_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = vit_(batch.pixel_values);
    const Tensor pooled_output = sequence_output.select(1);
    Tensor logits = classifier_(pooled_output);
    Tensor loss = ghost::cross_entropy(logits.view({-1, logits.size(-1)}), batch.labels.view({-1}));
    return {std::move(loss), std::move(logits)};
  }

 private:
  SampleSizes sample_;
  ViTModel vit_;
  nn::Linear classifier_;
};

}  // namespace

ModelPointer build_vit(const Config& c, const ModelOptions& options) {
  return build_checked<ViTForImageClassification>(c, ViTConfig(c, options), options);
}

}  // namespace memtape::family
