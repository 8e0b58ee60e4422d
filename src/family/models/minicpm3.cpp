// SPDX-License-Identifier: Apache-2.0
// MiniCPM3: DeepSeek's latent attention, rotated by halves, in every layer an MLP; the embedding,
// each branch and what the head is given are multiplied by numbers. Mirroring transformers 5.17
// models/minicpm3/modular_minicpm3.py.
#include <string>

#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/deepseek.h"
#include "family/parts/granite_layer.h"

namespace memtape::family {
namespace {

/// No layer has experts: nothing reads how many there are.
MoeDefaults no_experts() {
  return {.experts_key = "experts of none",
          .intermediate_key = "experts of none",
          .experts_per_tok_key = "experts of none"};
}

struct MiniCPM3Config : DeepseekConfig {
  MiniCPM3Config(const Config& c, const ModelOptions& options)
      : DeepseekConfig(c, options,
                       {.vocab_size = 73448,
                        .hidden_size = 2560,
                        .intermediate_size = 6400,
                        .num_hidden_layers = 62,
                        .num_attention_heads = 40,
                        .num_key_value_heads = 40,
                        .tie_word_embeddings = true},
                       no_experts()) {
    kv_lora_rank = c.dimension("kv_lora_rank", 256);
    if (!c.has("q_lora_rank")) q_lora_rank = 768;
    qk_nope_head_dim = c.dimension("qk_nope_head_dim", 64);
    head_dim = qk_rope_head_dim = c.dimension("qk_rope_head_dim", 32);
    if (qk_rope_head_dim % 2 != 0) c.fail("qk_rope_head_dim", "must be even");
    v_head_dim = c.optional_dimension("v_head_dim").value_or(hidden_size / num_attention_heads);
    rope = rope_parameters(c, head_dim);
    mlp_bias = c.boolean("mlp_bias", false);
  }
};

/// torch.tensor(scale_emb) of a whole number.
class WholeScaledWordEmbedding : public GemmaTextScaledWordEmbedding {
 public:
  WholeScaledWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim)
      : GemmaTextScaledWordEmbedding(scope, count, dim, DType::int64) {}
};

template <class ScaledWordEmbedding>
struct MiniCPM3Parts : DecoderParts {
  using Settings = MiniCPM3Config;
  using DecoderLayer = GraniteDecoderLayer<RotatedLatentAttention<apply_rotary_pos_emb>>;
  using Norm = LlamaRMSNorm;
  using Embedding = ScaledWordEmbedding;
};

/// The head is given hidden states divided by logits_scaling; `outputs` holds the undivided ones.
template <class ScaledWordEmbedding>
class MiniCPM3ForCausalLM final : public DecoderForCausalLM<MiniCPM3Parts<ScaledWordEmbedding>> {
 public:
  using Base = DecoderForCausalLM<MiniCPM3Parts<ScaledWordEmbedding>>;

  MiniCPM3ForCausalLM(const MiniCPM3Config& c, const ModelOptions& options)
      : Base(c, options), vocab_size_(c.vocab_size), classifies_(is_classification(options.task)) {}

  StageParts* stage_parts() override { return nullptr; }

  ModelOutput forward(const Batch& batch) override {
    if (classifies_) return Base::forward(batch);
    const Tensor last_hidden_state = this->last_hidden_state(batch);
    const Tensor hidden_states = last_hidden_state.div(1.0);
    Tensor logits = (*this->head())(kept_for_logits(hidden_states, this->model_type));
    Tensor loss = causal_lm_loss(logits, batch, vocab_size_, this->model_type);
    return {std::move(loss), std::move(logits)};
  }

 private:
  std::int64_t vocab_size_;
  bool classifies_;
};

ModelPointer build_minicpm3(const Config& c, const ModelOptions& options) {
  const MiniCPM3Config config(c, options);
  const bool is_whole = c.json("scale_emb").find_first_of(".eE") == std::string::npos;
  if (c.is_null("scale_emb") || is_whole)
    return build_checked<MiniCPM3ForCausalLM<WholeScaledWordEmbedding>>(c, config, options);
  return build_checked<MiniCPM3ForCausalLM<GemmaTextScaledWordEmbedding>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kMinicpm3{.model_type = "minicpm3",
                                   .first = {5, 13, 0},
                                   .ties_head = Known::yes,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .classifiers = {.sequences = true},
                                   .build = build_minicpm3};

}  // namespace memtape::family
