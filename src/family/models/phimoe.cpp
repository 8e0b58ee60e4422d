// SPDX-License-Identifier: Apache-2.0
// Phi-MoE: Mixtral with LayerNorm, biases and routers that sample their two experts; mirroring
// transformers 5.17 models/phimoe/modeling_phimoe.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "family/parts/rotary_tables.h"
#include "family/parts/sparsemixer.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/view_in_place.h"
#include "release/family_changes.h"
#include "release/mixture_changes.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct PhimoeConfig : MoeConfig {
  PhimoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 32064, .intermediate_size = 6400, .num_key_value_heads = 8},
                  {.experts_key = "num_local_experts",
                   .num_experts = 16,
                   .num_experts_per_tok = 2,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 6400}),
        jitters_input(c.number("input_jitter_noise", 0.0) > 0) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    head_bias = c.boolean("lm_head_bias", false);
    loop = LoopBefore5::all;
    sliding_window = c.optional_dimension("sliding_window");
    if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
  }
  bool jitters_input;
};

/// longrope takes its long factors where the sequence is longer than the original pretraining
/// length, which Python asks the device: true, as in every recording (RotaryEmbedding). The length
/// itself reads 0 there, so that the second question, within `if seq_len`, is not asked.
class PhimoeRotaryEmbedding : public RotaryEmbedding {
 public:
  PhimoeRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : RotaryEmbedding(scope, rope) {}

  CosSin operator()(const Tensor& x, const Tensor& position_ids) {
    const ghost::ScopeGuard guard(node().scope);
    const ghost::GradMode no_grad(false);
    if (rope().rope_type == RopeType::longrope) update_frequencies(position_ids);
    const Tensor seq_len = ghost::max_all(position_ids).add(1);
    // The frequencies are computed once more, on the CPU since kPhimoeFrequenciesOnHost.
    Tensor inv_freq;
    if (!ghost::has(changes::kPhimoeFrequenciesOnHost)) inv_freq = compute_inv_freq(rope());
    const ghost::AutocastContext no_autocast(false, DType::float32);
    const RotaryAngles angles = angles_of(position_ids, inv_freq);
    const Tensor& freqs = angles.freqs;
    const Tensor emb = ghost::cat({freqs, freqs}, -1);
    const Tensor cos = ghost::cos(emb).mul(ghost::kScale);
    const Tensor sin = ghost::sin(emb).mul(ghost::kScale);
    Tensor cos_cast = cos.to(x.dtype());
    return {std::move(cos_cast), sin.to(x.dtype())};
  }

 private:
  /// Frequencies that come from the host; where they are expanded first they live until the end.
  RotaryAngles angles_of(const Tensor& position_ids, const Tensor& on_device) const {
    const std::int64_t half = rope().dim / 2;
    if (ghost::has(changes::kRotaryAnglesAreProducts)) {
      Tensor positions = position_ids.unsqueeze(-1).to_float();
      return {positions.mul(ghost::empty({half}, DType::float32)), {}, {}};
    }
    RotaryAngles angles;
    angles.inv_freq_expanded =
        on_device.defined() ? on_device.view({1, half, 1}).expand({position_ids.size(0), half, 1})
                            : ghost::empty({position_ids.size(0), half, 1}, DType::float32);
    angles.position_ids_expanded = position_ids.unsqueeze(1).to_float();
    angles.freqs = angles.inv_freq_expanded.matmul(angles.position_ids_expanded).transpose(1, 2);
    return angles;
  }

  void update_frequencies(const Tensor& position_ids) {
    const Tensor seq_len = ghost::max_all(position_ids).add(1);
    if (ghost::has(changes::kLongRopeKeepsItsFrequencies)) return choose_frequencies(seq_len);
    ghost::gt(seq_len, ghost::kLimit);
    register_new_inv_freq();
  }
};

/// The rotary embedding of each release: before kPhimoeSharesAngles it kept no frequencies, and made
/// rows that every attention looked up.
class PhimoeRotary {
 public:
  PhimoeRotary(const nn::Scope& scope, const RopeParameters& rope)
      : node_(&scope.node()), rope_(rope) {
    if (ghost::has(changes::kPhimoeSharesAngles)) embedding_.emplace(scope, rope);
  }

  CosSin operator()(const Tensor& x, const Tensor& position_ids) {
    return embedding_ ? (*embedding_)(x, position_ids) : rows(x, position_ids);
  }
  void init_weights() const {
    if (embedding_) embedding_->init_weights();
  }
  nn::ModuleNode& node() const { return *node_; }

 private:
  CosSin rows(const Tensor& x, const Tensor& position_ids) const {
    const ghost::ScopeGuard guard(node_->scope);
    const Tensor seq_len = position_ids.slice(-1, 0, 1).add(1);
    if (rope_.rope_type == RopeType::longrope) {
      ghost::gt(seq_len, ghost::kLimit);  // for the scale, and for the factors
      ghost::gt(seq_len, ghost::kLimit);
    }
    const Tensor inv_freq = compute_inv_freq(rope_);
    const Tensor t = ghost::arange(position_ids.size(-1), DType::float32);
    const Tensor freqs = t.unsqueeze(-1).mul(inv_freq);
    const Tensor emb = ghost::cat({freqs, freqs}, -1);
    Tensor cos = ghost::cos(emb).mul(ghost::kScale).to(x.dtype());
    return {std::move(cos), ghost::sin(emb).mul(ghost::kScale).to(x.dtype())};
  }

  nn::ModuleNode* node_;
  RopeParameters rope_;
  std::optional<PhimoeRotaryEmbedding> embedding_;
};

/// apply_rotary_pos_emb. A column of the rows stands for the positions, of which only the number
/// counts.
std::pair<Tensor, Tensor> phimoe_rotated(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  if (ghost::has(changes::kPhimoeSharesAngles)) return apply_rotary_pos_emb(q, k, cos_sin);
  return apply_rotary_pos_emb(q, k, look_up(cos_sin, cos_sin.first.select(1, 0).unsqueeze(0)));
}

class PhimoeTopKRouter : public nn::Module<PhimoeTopKRouter> {
 public:
  PhimoeTopKRouter(const nn::Scope& scope, const PhimoeConfig& c)
      : Module(scope), jitters_(c.jitters_input && ghost::has(changes::kExpertsAreStacked)) {
    if (is_linear_router(c))
      linear_.emplace(scope, c.hidden_size, c.num_experts, false);
    else
      weight_ = scope.parameter("weight", {c.num_experts, c.hidden_size});
  }

  Routing forward(const Tensor& hidden_states) {
    if (jitters_)
      ghost::mul_view_(hidden_states, ghost::empty_like(hidden_states, hidden_states.dtype()));
    Tensor router_logits =
        linear_ ? linear_->forward(hidden_states) : ghost::linear(hidden_states, weight_, {});
    auto [routing_weights, selected_experts] = sparsemixer(router_logits);
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(routing_weights), std::move(selected_experts)};
  }

 private:
  bool jitters_;
  Tensor weight_;
  std::optional<nn::Linear> linear_;  ///< in its place
};

class PhimoeSparseMoeBlock : public nn::Module<PhimoeSparseMoeBlock> {
 public:
  PhimoeSparseMoeBlock(const nn::Scope& scope, const PhimoeConfig& c)
      : Module(scope),
        jitters_(c.jitters_input),
        router_(scope / (is_linear_router(c) ? "gate" : "router"), c),
        experts_(scope / "experts", c) {}

  Tensor forward(const Tensor& x) {
    if (jitters_) ghost::mul_(x, ghost::empty_like(x, x.dtype()));
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    const Routing routing = router_(hidden_states);
    const Tensor final_hidden_states = experts_(hidden_states, routing.indices, routing.weights);
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  bool jitters_;
  PhimoeTopKRouter router_;
  Experts experts_;
};

struct PhimoeSteps : Rotated<phimoe_rotated> {
  using Rotated::Rotated;
  static constexpr const Change& kInterfaceSince = changes::kOlderMixturesCallTheInterface;
};

struct PhimoeParts : MoeParts {
  using Settings = PhimoeConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<PhimoeSteps>, PhimoeSparseMoeBlock, nn::LayerNorm>;
  using Norm = nn::LayerNorm;
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return late_windowed_mask(c, attention_mask, inputs_embeds, position_ids);
  }
  using Rotary = PhimoeRotary;
  static RopeParameters rope(const PhimoeConfig& c) { return c.rope; }
};

ModelPointer build_phimoe(const Config& c, const ModelOptions& options) {
  return build_moe<PhimoeParts>(c, PhimoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kPhimoe{.model_type = "phimoe",
                                 .first = {4, 46, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .router_gives_two = true,
                                 .classifiers = {.sequences = true},
                                 .build = build_phimoe};

}  // namespace memtape::family
