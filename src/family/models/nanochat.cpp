// SPDX-License-Identifier: Apache-2.0
// NanoChat: norms without weights, also of the embeddings, of rotated heads of q and k, an MLP of
// two projections and softcapped logits; mirroring transformers 5.17
// models/nanochat/modular_nanochat.py.
#include <optional>
#include <tuple>

#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/rms_norms.h"

namespace memtape::family {
namespace {

struct NanoChatConfig : DecoderConfig {
  NanoChatConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 50304,
                       .hidden_size = 768,
                       .intermediate_size = 8192,
                       .num_hidden_layers = 12,
                       .num_attention_heads = 6,
                       .hidden_act = "relu2"}),
        final_logit_softcapping(c.has("final_logit_softcapping")
                                    ? c.optional_number("final_logit_softcapping")
                                    : 15.0) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
  }
  std::optional<double> final_logit_softcapping;
};

struct NanoChatSteps {
  NanoChatSteps(const nn::Scope& scope, const DecoderConfig&, std::int64_t)
      : q_norm(scope / "q_norm"), k_norm(scope / "k_norm") {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
    q = q_norm(q);
    k = k_norm(k);
  }
  Llama4TextL2Norm q_norm, k_norm;
};

class NanoChatMLP : public nn::Module<NanoChatMLP> {
 public:
  NanoChatMLP(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        activation_fn_(c.hidden_act),
        fc1_(scope / "fc1", c.hidden_size, c.intermediate_size, false),
        fc2_(scope / "fc2", c.intermediate_size, c.hidden_size, false) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = fc1_(x);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = fc2_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Activation activation_fn_;
  nn::Linear fc1_, fc2_;
};

struct NanoChatParts : DecoderParts {
  using Settings = NanoChatConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<NanoChatSteps>, NanoChatMLP, Llama4TextL2Norm>;
  using Norm = Llama4TextL2Norm;
  static constexpr bool kNormsEmbeddings = true;
  static void cap_logits(Tensor& logits, const NanoChatConfig& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

ModelPointer build_nanochat(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<NanoChatParts>>(c, NanoChatConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kNanochat{.model_type = "nanochat",
                                   .first = {5, 0, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_nanochat};

}  // namespace memtape::family
