// SPDX-License-Identifier: Apache-2.0
// Phi (1, 1.5, 2): layer norms, rotation of half of each head, biases throughout, and attention and
// MLP side by side on the same input; mirroring transformers 5.17 models/phi/modular_phi.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/clip_mlp.h"
#include "family/parts/decoder.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "nn/layer_frame.h"

namespace memtape::family {
namespace {

struct PhiConfig : DecoderConfig {
  PhiConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 51200,
                       .hidden_size = 2048,
                       .intermediate_size = 8192,
                       .num_hidden_layers = 24,
                       .hidden_act = "gelu_new"}),
        resid_pdrop(c.number("resid_pdrop", 0.0)),
        embd_pdrop(c.number("embd_pdrop", 0.0)),
        qk_layernorm(c.boolean("qk_layernorm", false)) {
    rope = rope_parameters(c, head_dim, "partial_rotary_factor", 0.5);
    head_bias = qkv_bias = o_bias = true;
    have_own_ropes(OwnRopes::unread);
  }
  double resid_pdrop, embd_pdrop;
  bool qk_layernorm;
};

struct PhiSteps {
  static constexpr const char* kOutput = "dense";
  PhiSteps(const nn::Scope& scope, const PhiConfig& c, std::int64_t) {
    if (c.qk_layernorm) norms.emplace(scope, c, NormNames{"q_layernorm", "k_layernorm"});
  }
  PartlyRotated operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    if (norms) (*norms)(q, k);
    return rotate_part_in_place(q, k, cos_sin);
  }
  Tensor attend(const AttentionCall& call, Tensor& q, Tensor& k, Tensor& v, const Tensor& mask) {
    if (ghost::has(*call.interface_since)) return attention_interface(call, q, k, v, mask);
    if (call.implementation != AttentionImplementation::eager)
      return written_out_attention(call, q, k, v, mask);
    return eager_in_float32(call, q, k, v, mask);
  }
  /// PhiAttention.forward of 4.47.
  static Tensor eager_in_float32(const AttentionCall& call, const Tensor& q, Tensor& k, Tensor& v,
                                 const Tensor& mask) {
    k = repeat_kv(k, call.num_key_value_groups);
    v = repeat_kv(v, call.num_key_value_groups);
    Tensor attn_weights;
    {
      const Tensor query = q.to(DType::float32), key = k.to(DType::float32);
      attn_weights = query.matmul(key.transpose(2, 3));
    }
    attn_weights = attn_weights.div(2.0);
    if (mask.defined()) ghost::add_(attn_weights, mask);
    attn_weights = ghost::softmax(attn_weights, DType::float32).to(v.dtype());
    attn_weights = ghost::dropout(attn_weights, call.dropout);
    nn::LayerFrame::keep_attention_weights(attn_weights);
    return attn_weights.matmul(v).transpose(1, 2).contiguous();
  }
  std::optional<HeadNorms<nn::LayerNorm>> norms;
};

class PhiDecoderLayer : public nn::GradientCheckpointingLayer<PhiDecoderLayer> {
 public:
  PhiDecoderLayer(const nn::Scope& scope, const PhiConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop) {}

  Tensor forward(const Tensor& residual, const Tensor& attention_mask,
                 const CosSin& position_embeddings, const Tensor&) {
    const Tensor hidden_states = input_layernorm_(residual);
    Tensor attn_outputs = self_attn_(hidden_states, attention_mask, position_embeddings);
    attn_outputs = resid_dropout_(attn_outputs);
    const Tensor feed_forward_hidden_states = resid_dropout_(mlp_(hidden_states));
    return attn_outputs.add(feed_forward_hidden_states).add(residual);
  }

 private:
  AttentionOf<PhiSteps> self_attn_;
  ClipMLP mlp_;
  nn::LayerNorm input_layernorm_;
  nn::Dropout resid_dropout_;
};

class PhiModel : public nn::Module<PhiModel> {
 public:
  PhiModel(const nn::Scope& scope, const PhiConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        rotary_emb_(scope / "rotary_emb", c.rope),
        embed_dropout_(scope / "embed_dropout", c.embd_pdrop),
        final_layernorm_(scope / "final_layernorm", c.hidden_size) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const LayerMasks masks =
        create_layer_masks(config_, attention_mask, inputs_embeds, position_ids);
    inputs_embeds = embed_dropout_(inputs_embeds);
    Tensor hidden_states = inputs_embeds;
    const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    hidden_states = nn::run_layers(
        layers_, std::move(hidden_states), 1,
        [&](PhiDecoderLayer& decoder_layer, std::size_t, const Tensor& x) {
          return decoder_layer(x, masks.full_attention, position_embeddings, position_ids);
        });
    return final_layernorm_(hidden_states);
  }

  nn::Embedding embed_tokens;

 private:
  PhiConfig config_;
  nn::ModuleList<PhiDecoderLayer> layers_;
  RotaryEmbedding rotary_emb_;
  nn::Dropout embed_dropout_;
  nn::LayerNorm final_layernorm_;
};

struct PhiParts : DecoderParts {
  using Settings = PhiConfig;
};

ModelPointer build_phi(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<PhiParts, PhiModel>>(c, PhiConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kPhi{.model_type = "phi",
                              .ties_head = Known::no,
                              .has_bos = Known::yes,
                              .modeling = kDecoder,
                              .module_rates = {"resid_pdrop", "embd_pdrop"},
                              .classifiers = {.sequences = true, .tokens = true},
                              .build = build_phi};

}  // namespace memtape::family
