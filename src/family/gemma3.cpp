// SPDX-License-Identifier: Apache-2.0
// Gemma 3, text only: Gemma 2 with norms on the heads of q and k, a rope for each layer type, and
// five sliding layers to one that sees all; mirroring transformers 5.17
// models/gemma3/modular_gemma3.py.
#include <tuple>

#include "family/decoder.h"
#include "family/families.h"
#include "family/gemma.h"
#include "family/key_value_cache.h"

namespace memtape::family {
namespace {

struct Gemma3TextConfig : Gemma2Config {
  Gemma3TextConfig(const Config& c, const ModelOptions& options)
      : Gemma2Config(c, options, {.vocab_size = 262208}) {
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    const std::int64_t pattern = c.dimension("sliding_window_pattern", 6);
    if (c.is_null("layer_types"))
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        if ((i + 1) % pattern != 0)
          layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    check_sliding_window(c, *this);
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  LayerRopes ropes;
};

class Gemma3Attention : public nn::Module<Gemma3Attention> {
 public:
  Gemma3Attention(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        q_norm_(scope / "q_norm", c.head_dim),
        k_norm_(scope / "k_norm", c.head_dim) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    query_states = q_norm_(query_states);
    key_states = k_norm_(key_states);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    const Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    return o_proj_(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  GemmaRMSNorm q_norm_, k_norm_;
};

struct Gemma3Parts : DecoderParts {
  using Settings = Gemma3TextConfig;
  using DecoderLayer = Gemma2DecoderLayer<Gemma3Attention>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaTextScaledWordEmbedding;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const Gemma3TextConfig& c) { return c.ropes; }
  static void cap_logits(Tensor& logits, const Gemma3TextConfig& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

}  // namespace

ModelPointer build_gemma3_text(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Gemma3Parts>>(c, Gemma3TextConfig(c, options), options);
}

}  // namespace memtape::family
