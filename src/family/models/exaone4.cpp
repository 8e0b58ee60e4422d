// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms on the heads of q and k, norms after attention and MLP instead of before, and, in
// models with a window, no rope in the layers of full attention; K-EXAONE: the same attention under
// norms before it, and DeepSeek-V3's experts; Kolibri 1: the same attention in GLM 4's layer, under
// experts by sigmoid scores beside a shared one. Mirroring transformers 5.17
// models/exaone4/modular_exaone4.py, models/exaone_moe/modular_exaone_moe.py and transformers 5.24
// models/kolibri1/modular_kolibri1.py.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/glm4_layer.h"
#include "family/parts/llama_layer.h"
#include "family/parts/post_norm_layer.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

/// sliding_window_pattern: every so many layers full attention. Without a window no layer slides.
std::string pattern_of(const Config& c, const DecoderConfig& config) {
  if (!config.sliding_window || !c.is_null("layer_types")) return "G";
  const std::int64_t every = c.dimension("sliding_window_pattern", 4);
  constexpr std::int64_t kLongest = 1024;
  return std::string(static_cast<std::size_t>(std::min(every, kLongest) - 1), 'L') + "G";
}

void read_exaone4_layers(const Config& c, DecoderConfig& config) {
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
  const std::string pattern = pattern_of(c, config);
  config.layer_types = read_layer_types(c, config.num_hidden_layers,
                                        [](std::int64_t) { return LayerType::full_attention; });
  if (c.is_null("layer_types"))
    for (std::size_t i = 0; i < config.layer_types.size(); ++i)
      if (pattern[i % pattern.size()] == 'L') config.layer_types[i] = LayerType::sliding_attention;
  check_sliding_window(c, config);
  config.masks_by_layer_type = true;
}

struct Exaone4Config : DecoderConfig {
  Exaone4Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 102400, .intermediate_size = 16384}) {
    read_exaone4_layers(c, *this);
  }
};

struct ExaoneMoeConfig : DeepseekMoeConfig {
  ExaoneMoeConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(
            c, options,
            {.vocab_size = 102400, .intermediate_size = 16384, .num_key_value_heads = 32},
            {.num_experts = 64, .num_experts_per_tok = 8, .intermediate_size = 1024}),
        sparse_layers(
            read_mlp_layer_types(c, num_hidden_layers, c.count("first_k_dense_replace", 1))) {
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("num_shared_experts", 1);
    read_groups_of_two_best(c, 1, 1);
    read_exaone4_layers(c, *this);
  }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }
  std::vector<bool> sparse_layers;
};

struct Exaone4Steps {
  Exaone4Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : norms(scope, c),
        rotates(!c.sliding_window || c.layer_type(layer) == LayerType::sliding_attention) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    if (rotates) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<LlamaRMSNorm> norms;
  bool rotates;
};

struct Exaone4Parts : DecoderParts {
  using Settings = Exaone4Config;
  using DecoderLayer = PostNormDecoderLayer<AttentionOf<Exaone4Steps>, LlamaRMSNorm>;
  using Norm = LlamaRMSNorm;
};

struct ExaoneMoeParts : MoeParts {
  using Settings = ExaoneMoeConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<Exaone4Steps>,
                                           MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

struct Kolibri1Config : MoeConfig {
  Kolibri1Config(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 128000,
                   .hidden_size = 2560,
                   .num_hidden_layers = 50,
                   .num_attention_heads = 48,
                   .num_key_value_heads = 4,
                   .head_dim = 128},
                  {.experts_key = {"num_local_experts", "num_experts"},
                   .num_experts = 384,
                   .num_experts_per_tok = 6,
                   .intermediate_size = 512}),
        shared_expert_intermediate_size(c.dimension("shared_expert_intermediate_size", 512)) {
    norm_topk_prob = c.boolean("norm_topk_prob", false);
    read_sliding_pattern(c, *this, 5, 513);
  }

  std::int64_t shared_expert_intermediate_size;
};

/// Chooses by logits and a bias that keeps the load even, and weights by the logits' sigmoid.
class Kolibri1TopKRouter : public nn::Module<Kolibri1TopKRouter> {
 public:
  Kolibri1TopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        normalizes_(c.norm_topk_prob),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {
    const ghost::ScopeGuard guard(node().scope);
    e_score_correction_bias_ = ghost::zeros({c.num_experts}, DType::float32);
    scope.buffer("e_score_correction_bias", e_score_correction_bias_);
  }

  Routing forward(const Tensor& x) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    Tensor router_logits = float32_router_logits(hidden_states, weight_);
    Tensor indices = ghost::topk(router_logits.add(e_score_correction_bias_), top_k_).second;
    Tensor scores = ghost::sigmoid(ghost::gather(router_logits, indices));
    if (normalizes_) scores = scores.div(scores.sum(-1, true));
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(scores), std::move(indices)};
  }

 private:
  std::int64_t top_k_;
  bool normalizes_;
  Tensor weight_, e_score_correction_bias_;
};

class Kolibri1SparseMoeBlock : public nn::Module<Kolibri1SparseMoeBlock> {
 public:
  Kolibri1SparseMoeBlock(const nn::Scope& scope, const Kolibri1Config& c)
      : Module(scope),
        experts_(scope / "experts", c),
        gate_(scope / "gate", c),
        shared_experts_(scope / "shared_experts",
                        with_intermediate_size(c, c.shared_expert_intermediate_size)) {}

  Tensor forward(const Tensor& residuals) {
    const Routing routing = gate_(residuals);
    Tensor hidden_states = residuals.view({-1, residuals.size(-1)});
    hidden_states =
        experts_(hidden_states, routing.indices, routing.weights).view(residuals.sizes());
    return hidden_states.add(shared_experts_(residuals));
  }

 private:
  Experts experts_;
  Kolibri1TopKRouter gate_;
  LlamaMLP shared_experts_;
};

struct Kolibri1Parts : MoeParts {
  using Settings = Kolibri1Config;
  using DecoderLayer = Glm4DecoderLayer<AttentionOf<Exaone4Steps>, Kolibri1SparseMoeBlock>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_kolibri1(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Kolibri1Parts>>(c, Kolibri1Config(c, options), options);
}

ModelPointer build_exaone4(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Exaone4Parts>>(c, Exaone4Config(c, options), options);
}

ModelPointer build_exaone_moe(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<ExaoneMoeParts>>(c, ExaoneMoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kExaone4{
    .model_type = "exaone4",
    .first = {4, 54, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_exaone4};

extern const FamilyFacts kExaoneMoe{.model_type = "exaone_moe",
                                    .first = {5, 1, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_exaone_moe};

extern const FamilyFacts kKolibri1{.model_type = "kolibri1",
                                   .first = {5, 20, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::no,
                                   .modeling = kDecoder,
                                   .build = build_kolibri1};

}  // namespace memtape::family
