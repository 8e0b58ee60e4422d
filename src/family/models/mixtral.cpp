// SPDX-License-Identifier: Apache-2.0
// Mixtral: Mistral with experts in place of the MLP, mirroring transformers 5.17
// models/mixtral/modeling_mixtral.py, and that of 4.48 where an older release is in force.
#include <optional>

#include "family/facts.h"
#include "family/parts/expert_modules.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "release/mixture_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct MixtralConfig : MoeConfig {
  MixtralConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options, {.intermediate_size = 14336, .num_key_value_heads = 8},
                  {.experts_key = "num_local_experts",
                   .num_experts = 8,
                   .num_experts_per_tok = 2,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 14336}),
        router_jitter_noise(c.number("router_jitter_noise", 0.0)) {
    sliding_window = c.optional_dimension("sliding_window");
    if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
    if (!ghost::has(changes::kMixtralComputesAngles)) {
      own_ropes = OwnRopes::asked;
      early = {.positions = c.count("max_position_embeddings", 131072), .looks_up = true};
    }
  }
  double router_jitter_noise;
};

class MixtralSparseMoeBlock : public nn::Module<MixtralSparseMoeBlock> {
 public:
  MixtralSparseMoeBlock(const nn::Scope& scope, const MixtralConfig& c)
      : Module(scope), jitter_noise_(c.router_jitter_noise) {
    if (ghost::has(changes::kExpertsAreStacked)) {
      gate_.emplace(scope / "gate", c, TopKRouter::Style::mixtral);
      experts_.emplace(scope / "experts", c);
    } else {
      expert_modules_.emplace(scope, c);
    }
  }

  Tensor forward(const Tensor& x) {
    if (jitter_noise_ > 0) ghost::mul_(x, ghost::empty_like(x, x.dtype()));
    Tensor hidden_states = x.view({-1, x.size(-1)});
    if (expert_modules_) return (*expert_modules_)(hidden_states).reshape(x.sizes());
    const Routing routing = (*gate_)(hidden_states);
    hidden_states = (*experts_)(hidden_states, routing.indices, routing.weights);
    return hidden_states.reshape(x.sizes());
  }

 private:
  double jitter_noise_;
  std::optional<TopKRouter> gate_;
  std::optional<Experts> experts_;
  std::optional<ExpertModules> expert_modules_;  ///< in their place
};

struct MixtralParts : MoeParts {
  using Settings = MixtralConfig;
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention, MixtralSparseMoeBlock>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_mixtral(const Config& c, const ModelOptions& options) {
  return build_moe<MixtralParts>(c, MixtralConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kMixtral{
    .model_type = "mixtral",
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_mixtral};

}  // namespace memtape::family
