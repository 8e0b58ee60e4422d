// SPDX-License-Identifier: Apache-2.0
// Mllama's text model with its language-model head (MllamaForCausalLM): Llama's layers, and between
// them layers that attend to images. Where there are none those are passed over: they take memory,
// but get no gradients. Mirrors transformers 5.17 models/mllama/modeling_mllama.py.
#include <algorithm>
#include <optional>

#include "family/caches/own_cache.h"
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {
namespace {

struct MllamaTextConfig : DecoderConfig {
  MllamaTextConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128256,
                       .intermediate_size = 14336,
                       .num_hidden_layers = 40,
                       .num_key_value_heads = 8}),
        cross_attention_layers(c.is_null("cross_attention_layers")
                                   ? std::vector<std::int64_t>{3, 8, 13, 18, 23, 28, 33, 38}
                                   : c.integers("cross_attention_layers")),
        use_cache(c.boolean("use_cache", true)) {
    attention_dropout = c.number("dropout", 0.0);
    tie_word_embeddings = false;  // whatever it says: the table has rows that the head has not
  }
  bool is_cross_attention_layer(std::int64_t layer) const {
    return std::find(cross_attention_layers.begin(), cross_attention_layers.end(), layer) !=
           cross_attention_layers.end();
  }

  std::vector<std::int64_t> cross_attention_layers;
  bool use_cache;
};

struct MllamaSteps : ProjectedThenRotated<apply_rotary_pos_emb> {
  using ProjectedThenRotated::ProjectedThenRotated;
  static constexpr const Change& kInterfaceSince = changes::kMllamaCallsTheInterface;
};

/// The table has eight rows more than the vocabulary, for the image token.
class MllamaEmbedding : public nn::Embedding {
 public:
  MllamaEmbedding(const nn::Scope& scope, std::int64_t vocab_size, std::int64_t hidden_size)
      : Embedding(scope, vocab_size + 8, hidden_size) {}
};

class MllamaTextCrossAttention : public nn::Module<MllamaTextCrossAttention> {
 public:
  MllamaTextCrossAttention(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, false),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, false),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, false),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, false),
        q_norm_(scope / "q_norm", c.head_dim),
        k_norm_(scope / "k_norm", c.head_dim) {}

 private:
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  LlamaRMSNorm q_norm_, k_norm_;
};

class MllamaCrossAttentionDecoderLayer {
 public:
  MllamaCrossAttentionDecoderLayer(const nn::Scope& scope, const DecoderConfig& c)
      : cross_attn_(scope / "cross_attn", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        cross_attn_attn_gate_(scope.parameter("cross_attn_attn_gate", {1})),
        mlp_(scope / "mlp", c),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        cross_attn_mlp_gate_(scope.parameter("cross_attn_mlp_gate", {1})) {}

 private:
  MllamaTextCrossAttention cross_attn_;
  LlamaRMSNorm input_layernorm_;
  Tensor cross_attn_attn_gate_;
  LlamaMLP mlp_;
  LlamaRMSNorm post_attention_layernorm_;
  Tensor cross_attn_mlp_gate_;
};

class MllamaDecoderLayer {
 public:
  MllamaDecoderLayer(const nn::Scope& scope, const MllamaTextConfig& c, nn::ListIndex layer) {
    if (c.is_cross_attention_layer(layer))
      cross_attention_.emplace(scope, c);
    else
      self_attention_.emplace(scope, c, layer);
  }

  Tensor operator()(const Tensor& hidden_states, const Tensor& attention_mask,
                    const CosSin& position_embeddings, const Tensor& position_ids) {
    if (!self_attention_) return hidden_states;
    return (*self_attention_)(hidden_states, attention_mask, position_embeddings, position_ids);
  }

 private:
  std::optional<PreNormDecoderLayer<AttentionOf<MllamaSteps>>> self_attention_;
  std::optional<MllamaCrossAttentionDecoderLayer> cross_attention_;
};

struct MllamaParts : LateSharedMask {
  using Settings = MllamaTextConfig;
  using Embedding = MllamaEmbedding;
  using DecoderLayer = MllamaDecoderLayer;
  using Norm = LlamaRMSNorm;
  static void cap_logits(Tensor& logits, const DecoderConfig&) { logits = logits.to_float(); }
};

class MllamaForCausalLM : public DecoderForCausalLM<MllamaParts> {
 public:
  MllamaForCausalLM(const MllamaTextConfig& config, const ModelOptions& options)
      : DecoderForCausalLM(config, options), use_cache_(config.use_cache) {}

  ModelOutput forward(const Batch& batch) override {
    const OwnCache past_key_values(use_cache_, tree);
    return DecoderForCausalLM::forward(batch);
  }

 private:
  bool use_cache_;
};

ModelPointer build_mllama(const Config& c, const ModelOptions& options) {
  return build_checked<MllamaForCausalLM>(c, MllamaTextConfig(c.object("text_config"), options),
                                          options);
}

}  // namespace

extern const FamilyFacts kMllama{.model_type = "mllama",
                                 .text_type = "mllama_text_model",
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .build = build_mllama};

}  // namespace memtape::family
