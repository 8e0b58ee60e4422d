// SPDX-License-Identifier: Apache-2.0
// ViT for image classification: patches as tokens behind one for the class, learned positions, and
// a head on that first token; DeiT, with a second token for what it is distilled from. Mirroring
// transformers 5.17 models/vit/modeling_vit.py and models/deit/modeling_deit.py.
#include <string>

#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/attention_interface.h"
#include "family/parts/clip_mlp.h"
#include "family/parts/vit_embeddings.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

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
  ViTForImageClassification(const ViTConfig& c, const ModelOptions& options, const char* name)
      : PretrainedModel(options),
        sample_(image_sample(c)),
        vit_(root() / name, c),
        classifier_(root() / "classifier", c.hidden_size, c.num_labels) {}

  std::string_view output_embeddings() const override { return {}; }
  SampleSizes sample_sizes(std::int64_t) const override { return sample_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = vit_(batch.pixel_values);
    const Tensor pooled_output =
        ghost::indexed_by_colons(ghost::indexed_by_colons(sequence_output, 1).select(1, 0), 1);
    Tensor logits = classifier_(pooled_output);
    Tensor loss = ghost::cross_entropy(logits.view({-1, logits.size(-1)}), batch.labels.view({-1}));
    return {std::move(loss), std::move(logits)};
  }

 private:
  SampleSizes sample_;
  ViTModel vit_;
  nn::Linear classifier_;
};

ModelPointer build_vit(const Config& c, const ModelOptions& options) {
  return build_checked<ViTForImageClassification>(c, ViTConfig(c, options), options, "vit");
}

ModelPointer build_deit(const Config& c, const ModelOptions& options) {
  ViTConfig config(c, options);
  config.distills = true;
  for (const std::string& name : c.texts("architectures"))
    if (name == "DeiTForImageClassificationWithTeacher")
      c.fail("architectures", "a model with a teacher has no loss, use DeiTForImageClassification");
  return build_checked<ViTForImageClassification>(c, config, options, "deit");
}

}  // namespace

extern const FamilyFacts kVit{.model_type = "vit",
                              .task = Task::image_classification,
                              .ties_head = Known::no,
                              .has_bos = Known::no,
                              .modeling = kEncoder,
                              .build = build_vit};

extern const FamilyFacts kDeit{.model_type = "deit",
                               .task = Task::image_classification,
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kEncoder,
                               .build = build_deit};

}  // namespace memtape::family
