// SPDX-License-Identifier: Apache-2.0
// Phi-3: one projection for q, k and v, one for gate and up, rotation of a part of each head,
// dropout on the residual branches; mirroring transformers 5.17 models/phi3/modeling_phi3.py.
#include <tuple>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/phi3_mlp.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct Phi3Config : DecoderConfig {
  Phi3Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 32064, .hidden_size = 3072, .intermediate_size = 8192}),
        resid_pdrop(c.number("resid_pdrop", 0.0)) {
    sliding_window = c.optional_dimension("sliding_window");
    if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
    have_own_ropes(OwnRopes::asked);
  }
  double resid_pdrop;
};

class Phi3Attention : public nn::Module<Phi3Attention> {
 public:
  Phi3Attention(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        query_pos_(c.num_attention_heads * c.head_dim),
        key_pos_(query_pos_ + c.num_key_value_heads * c.head_dim),
        o_proj_(scope / "o_proj", query_pos_, c.hidden_size, false),
        qkv_proj_(scope / "qkv_proj", c.hidden_size,
                  query_pos_ + 2 * c.num_key_value_heads * c.head_dim, false) {
    call_.added_mask_in_place = true;
    if (c.own_ropes == OwnRopes::asked) rotary_emb_.emplace(scope / "rotary_emb", c.rope);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    const Tensor qkv = qkv_proj_(hidden_states);
    Tensor query_states = qkv.slice(-1, 0, query_pos_);
    Tensor key_states = qkv.slice(-1, query_pos_, key_pos_);
    Tensor value_states = qkv.slice(-1, key_pos_, qkv.size(-1));
    query_states = query_states.view(hidden_shape).transpose(1, 2);
    key_states = key_states.view(hidden_shape).transpose(1, 2);
    value_states = value_states.view(hidden_shape).transpose(1, 2);
    const CosSin own =
        rotary_emb_ ? (*rotary_emb_)(value_states, position_embeddings.first) : CosSin{};
    const auto rotate = ghost::has(changes::kPhi3RotatesAPart) ? apply_partial_rotary_pos_emb
                                                               : apply_rotary_pos_emb;
    std::tie(query_states, key_states) =
        rotate(query_states, key_states, rotary_emb_ ? own : position_embeddings);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    attn_output = o_proj_(attn_output);
    if (!ghost::has(*call_.interface_since)) nn::LayerFrame::keep_attention_weights({});
    return attn_output;
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_, query_pos_, key_pos_;
  nn::Linear o_proj_, qkv_proj_;
  std::optional<RotaryEmbedding> rotary_emb_;
};

class Phi3DecoderLayer : public nn::GradientCheckpointingLayer<Phi3DecoderLayer> {
 public:
  Phi3DecoderLayer(const nn::Scope& scope, const Phi3Config& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        resid_attn_dropout_(scope / "resid_attn_dropout", c.resid_pdrop),
        resid_mlp_dropout_(scope / "resid_mlp_dropout", c.resid_pdrop) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    Tensor attn_outputs = self_attn_(hidden_states, attention_mask, position_embeddings);
    if (ghost::has(changes::kPhi3DropsItsOutputs)) hidden_states = std::move(attn_outputs);
    hidden_states =
        residual.add(resid_attn_dropout_(attn_outputs.defined() ? attn_outputs : hidden_states));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(resid_mlp_dropout_(hidden_states));
  }

 private:
  Phi3Attention self_attn_;
  Phi3MLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
  nn::Dropout resid_attn_dropout_, resid_mlp_dropout_;
};

struct Phi3Parts : DecoderParts {
  using Settings = Phi3Config;
  using DecoderLayer = Phi3DecoderLayer;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_phi3(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Phi3Parts>>(c, Phi3Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kPhi3{.model_type = "phi3",
                               .ties_head = Known::no,
                               .has_bos = Known::yes,
                               .modeling = kDecoder,
                               .classifiers = {.sequences = true, .tokens = true},
                               .build = build_phi3};

}  // namespace memtape::family
