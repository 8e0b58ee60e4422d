// SPDX-License-Identifier: Apache-2.0
// Apertus and Apertus 1.5: Llama with norms on the heads of q and k and an MLP without a gate, whose
// activation is xIELU with two trained numbers; mirroring transformers 5.17
// models/apertus/modular_apertus.py and XIELUActivation of activations.py, as Python runs it where
// the xIELU wheel is not installed. Apertus 1.5 has tokenizers of images and sounds behind its text
// model, in float32 (parts/apertus_tokenizers.h).
#include <optional>
#include <string>

#include "family/facts.h"
#include "family/parts/apertus_tokenizers.h"
#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/text_before_towers.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/expm1.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct ApertusConfig : DecoderConfig {
  ApertusConfig(const Config& c, const ModelOptions& options, std::int64_t vocabulary = 131072)
      : DecoderConfig(c, options,
                      {.vocab_size = vocabulary, .intermediate_size = 14336, .hidden_act = "silu"}),
        is_xielu(c.text("hidden_act", "xielu") == "xielu"),
        output_vocab_size(c.optional_dimension("output_vocab_size").value_or(vocab_size)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    if (c.is_null("rope_parameters")) rope.rope_type = RopeType::llama3;
  }
  bool is_xielu;
  std::int64_t output_vocab_size;  ///< of the head, which may know text alone (Apertus 1.5)
};

class XIELUActivation : public nn::Module<XIELUActivation> {
 public:
  explicit XIELUActivation(const nn::Scope& scope)
      : Module(scope),
        alpha_p_(initial(scope, "alpha_p")),
        alpha_n_(initial(scope, "alpha_n")),
        beta_(number(scope)),
        eps_(number(scope)) {
    scope.buffer("beta", beta_);
    scope.buffer("eps", eps_);
  }

  Tensor forward(const Tensor& x) {
    const Tensor alpha_p = ghost::softplus(alpha_p_);
    const Tensor alpha_n = beta_.add(ghost::softplus(alpha_n_));
    const Tensor is_positive = ghost::gt(x, 0);
    const Tensor positive = alpha_p.mul(x).mul(x).add(beta_.mul(x));
    const Tensor negative =
        ghost::expm1(ghost::minimum(x, eps_)).sub(x).mul(alpha_n).add(beta_.mul(x));
    return ghost::where(is_positive, positive, negative);
  }

 private:
  static Tensor number(const nn::Scope& scope) { return ghost::full({}, scope.dtype()); }
  /// torch.log(torch.expm1(torch.tensor(init))).unsqueeze(0)
  static Tensor initial(const nn::Scope& scope, const char* name) {
    const Tensor start = number(scope);
    const Tensor grown = ghost::expm1(start);
    return scope.parameter(name, {1});
  }

  Tensor alpha_p_, alpha_n_, beta_, eps_;
};

class ApertusMLP : public nn::Module<ApertusMLP> {
 public:
  ApertusMLP(const nn::Scope& scope, const ApertusConfig& c)
      : Module(scope),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, false),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, false),
        act_fn_(c.hidden_act) {
    if (c.is_xielu) xielu_.emplace(scope / "act_fn");
  }

  Tensor forward(const Tensor& x) {
    Tensor up = up_proj_(x);
    return down_proj_(xielu_ ? (*xielu_)(std::move(up)) : act_fn_(std::move(up)));
  }

 private:
  nn::Linear up_proj_, down_proj_;
  nn::Activation act_fn_;
  std::optional<XIELUActivation> xielu_;
};

struct NormedThenRotated {
  NormedThenRotated(const nn::Scope& scope, const DecoderConfig& c, std::int64_t)
      : norms(scope, c) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<LlamaRMSNorm> norms;
};

struct ApertusParts : DecoderParts {
  using Settings = ApertusConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<NormedThenRotated>, ApertusMLP>;
  using Norm = LlamaRMSNorm;
  static std::int64_t head_size(const ApertusConfig& c) { return c.output_vocab_size; }
};

/// Apertus 1.5's text model: a vocabulary that has codes of images and sounds, too.
ApertusConfig apertus1p5_text_config(const Config& c, const ModelOptions& options) {
  ApertusConfig config(c, options, 266752);
  if (config.output_vocab_size > config.vocab_size)
    c.fail("output_vocab_size", "must be at most vocab_size " + std::to_string(config.vocab_size));
  return config;
}

ModelPointer build_apertus1p5_text(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<ApertusParts>>(c, apertus1p5_text_config(c, options),
                                                         options);
}

ModelPointer build_apertus1p5(const Config& c, const ModelOptions& options) {
  return build_text_before_towers<ApertusParts, DecoderModel<ApertusParts>, ApertusTokenizers>(
      c, apertus1p5_text_config(c.object("text_config"), options), ApertusTokenizersConfig(c),
      false, options);
}

ModelPointer build_apertus(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<ApertusParts>>(c, ApertusConfig(c, options), options);
}

std::string needs_no_sdpa_by_name(const Config&, const Release&) {
  return "transformers stops where sdpa is asked for by name, which Apertus 1.5's tokenizer of "
         "images has not: this is the answer where no attention is named, or eager";
}

}  // namespace

extern const FamilyFacts kApertus{.model_type = "apertus",
                                  .first = {4, 56, 0},
                                  .ties_head = Known::no,
                                  .has_bos = Known::yes,
                                  .modeling = kDecoder,
                                  .classifiers = {.tokens = true},
                                  .build = build_apertus};

extern const FamilyFacts kApertus1p5Text{.model_type = "apertus1p5_text",
                                         .first = {5, 24, 0},
                                         .ties_head = Known::no,
                                         .has_bos = Known::yes,
                                         .modeling = kDecoder,
                                         .build = build_apertus1p5_text};

extern const FamilyFacts kApertus1p5{.model_type = "apertus1p5",
                                     .task = Task::image_text_to_text,
                                     .first = {5, 24, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .taken_otherwise = needs_no_sdpa_by_name,
                                     .build = build_apertus1p5};

}  // namespace memtape::family
