// SPDX-License-Identifier: Apache-2.0
#include "family/parts/experts.h"

#include <utility>

#include "family/parts/forward_arguments.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// config.experts_implementation; "deepgemm" and "sonicmoe" are kernels of other libraries.
ExpertsImplementation read_experts_implementation(const Config& c) {
  const std::string name = c.text("experts_implementation", "grouped_mm");
  if (name == "eager") return ExpertsImplementation::eager;
  if (name == "batched_mm") return ExpertsImplementation::batched_mm;
  if (name != "grouped_mm")
    c.fail("experts_implementation",
           "only eager, batched_mm and grouped_mm are modelled, found \"" + name + '"');
  return ExpertsImplementation::grouped_mm;
}

}  // namespace

MoeConfig::MoeConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                     const MoeDefaults& moe)
    : DecoderConfig(c, options, defaults),
      num_experts(c.dimension(moe.experts_key, moe.num_experts)),
      num_experts_per_tok(c.dimension(moe.experts_per_tok_key, moe.num_experts_per_tok)),
      moe_intermediate_size(c.dimension(moe.intermediate_key, moe.intermediate_size)),
      norm_topk_prob(c.boolean("norm_topk_prob", false)),
      output_router_logits(c.boolean("output_router_logits", false)),
      experts_implementation(read_experts_implementation(c)),
      expert_load(options.expert_load) {
  if (num_experts_per_tok > num_experts)
    c.fail(*moe.experts_per_tok_key.begin(), "must be at most " +
                                                 std::string(*moe.experts_key.begin()) + " " +
                                                 std::to_string(num_experts));
}

RouterLogits::RouterLogits(bool wanted) : given_(std::in_place, wanted ? this : nullptr) {
  if (wanted) ghost::session().repeats_layers = false;  // every layer leaves something behind
}

void RouterLogits::record(const Tensor& logits) {
  if (auto* const collector = ghost::given_here<RouterLogits>())
    collector->collected_.push_back(logits);
}

const std::vector<Tensor>& RouterLogits::stop() {
  given_.reset();
  return collected_;
}

TopKRouter::TopKRouter(const nn::Scope& scope, const MoeConfig& c, Style style)
    : Module(scope),
      top_k_(c.num_experts_per_tok),
      hidden_dim_(c.hidden_size),
      normalizes_(c.norm_topk_prob || style == Style::mixtral),
      style_(style) {
  if (is_linear_router(c))
    linear_.emplace(scope, c.hidden_size, c.num_experts, false);
  else
    weight_ = scope.parameter("weight", {c.num_experts, c.hidden_size});
}

bool is_linear_router(const MoeConfig& c) {
  return !ghost::has(changes::kExpertsAreStacked) &&
         (c.loop == LoopBefore5::hit || c.loop == LoopBefore5::all);
}

Routing TopKRouter::forward(const Tensor& x) {
  const nn::Parametrized weight(node(), weight_);
  const Tensor hidden_states = x.reshape({-1, hidden_dim_});
  Tensor router_logits = linear_ ? linear_->forward(hidden_states)
                                 : ghost::linear(hidden_states, nn::value_of(weight_), {});
  const Tensor router_probs = style_ == Style::mixtral
                                  ? ghost::softmax(router_logits.to_float(), DType::float32)
                                  : ghost::softmax(router_logits, DType::float32);
  const bool names_probabilities =
      ghost::has(changes::kRoutersNameProbabilities) || !ghost::has(changes::kExpertsAreStacked);
  if (!names_probabilities) router_logits = router_probs;
  auto [router_top_value, router_indices] = ghost::topk(router_probs, top_k_);
  if (normalizes_) ghost::div_(router_top_value, router_top_value.sum(-1, true));
  if (style_ == Style::qwen2)
    router_top_value = router_top_value.to(
        ghost::has(changes::kExpertsAreStacked) ? router_logits.dtype() : x.dtype());
  RouterLogits::record(router_logits);
  return {std::move(router_logits), std::move(router_top_value), std::move(router_indices)};
}

Experts::Experts(const nn::Scope& scope, const MoeConfig& c, const ExpertsLayout& layout)
    : Module(scope),
      num_experts_(c.num_experts),
      implementation_(c.experts_implementation),
      load_(c.expert_load),
      layout_(layout),
      act_fn_(c.hidden_act) {
  const bool plain = !layout.transposed && !layout.has_bias && layout.has_gate &&
                     layout.input_size == 0 &&
                     layout.apply_gate == ExpertsLayout::default_apply_gate;
  if (plain && c.loop && !ghost::has(changes::kExpertsAreStacked)) {
    DecoderConfig expert = c;
    expert.intermediate_size = c.moe_intermediate_size;
    looped_.emplace(scope, num_experts_, expert, *c.loop);
    return;
  }
  const std::int64_t width = layout.input_size > 0 ? layout.input_size : c.hidden_size;
  gate_up_ = make_linear(scope, layout.has_gate ? "gate_up_proj" : "up_proj", width,
                         (layout.has_gate ? 2 : 1) * c.moe_intermediate_size);
  down_ = make_linear(scope, "down_proj", c.moe_intermediate_size, width);
}

Experts::Linear Experts::make_linear(const nn::Scope& scope, const char* name, std::int64_t in,
                                     std::int64_t out) const {
  const Dims sizes = layout_.transposed ? Dims{num_experts_, in, out} : Dims{num_experts_, out, in};
  Linear linear{.weight = scope.parameter(name, sizes), .bias = {}};
  if (layout_.has_bias)
    linear.bias = scope.parameter(std::string(name) + "_bias", {num_experts_, out});
  return linear;
}

Tensor ExpertsLayout::default_apply_gate(const Tensor& gate_up_out, const nn::Activation& act_fn) {
  std::vector<Tensor> halves = gate_up_out.chunk(2, -1);
  const Tensor gate = std::move(halves[0]), up = std::move(halves[1]);
  return act_fn(gate).mul(up);
}

Tensor Experts::forward(const Tensor& hidden_states, const Tensor& top_k_index,
                        const Tensor& top_k_weights) {
  if (looped_)
    return (*looped_)(hidden_states, top_k_index, top_k_weights,
                      load_.by_expert({hidden_states.size(0), top_k_index.size(-1), num_experts_}));
  const nn::Parametrized down(node(), down_.weight), gate_up(node(), gate_up_.weight);
  if (!gate_up.is_active() && are_packed())
    return packed_forward(hidden_states, top_k_index, top_k_weights);
  const bool batched = implementation_ == ExpertsImplementation::batched_mm || is_decoding();
  if (implementation_ == ExpertsImplementation::eager)
    return eager_forward(hidden_states, top_k_index, top_k_weights);
  if (batched && layout_.has_bias && !is_decoding())  // biases are added to views of the products
    ghost::session().fail({ErrorKind::unsupported,
                           "experts with biases are not modelled in batched_mm",
                           "experts_implementation", "grouped_mm"});
  return batched ? batched_forward(hidden_states, top_k_index, top_k_weights)
                 : grouped_forward(hidden_states, top_k_index, top_k_weights);
}

/// _apply_gate, or the activation function of experts without a gate.
Tensor Experts::activated(const Tensor& up_out) const {
  return layout_.has_gate ? layout_.apply_gate(up_out, act_fn_) : act_fn_(up_out);
}

/// _batched_linear: a product a row, each with a weight of its own.
Tensor Experts::batched_linear(const Tensor& input, const Tensor& weight,
                               const Tensor& bias) const {
  Tensor out = layout_.transposed ? ghost::bmm(input.unsqueeze(1), weight).squeeze(1)
                                  : ghost::bmm(weight, input.unsqueeze(-1)).squeeze(-1);
  if (bias.defined()) ghost::add_(out, bias);
  return out;
}

/// batched_mm_experts_forward: the weights of the chosen experts are copied out, once per token and
/// expert.
Tensor Experts::batched_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                const Tensor& top_k_weights) {
  const std::int64_t num_top_k = top_k_index.size(-1), num_tokens = hidden_states.size(0);
  const Tensor selected_hidden_states = ghost::repeat_interleave(hidden_states, num_top_k, 0);
  const Tensor sample_weights = top_k_weights.reshape({-1});
  Tensor expert_ids = top_k_index.reshape({-1});
  if (!ghost::has(changes::kExpertsMaskOnlyWhereShared))
    expert_ids = ghost::clamp(expert_ids, {.min = 0, .max = num_experts_ - 1});
  const auto selected = [&](const Tensor& of_experts) {
    return of_experts.defined() ? ghost::index(of_experts, expert_ids) : Tensor();
  };
  Tensor selected_weights = selected(nn::value_of(gate_up_.weight)),
         selected_biases = selected(gate_up_.bias);
  Tensor proj_out = batched_linear(selected_hidden_states, selected_weights, selected_biases);
  proj_out = activated(proj_out);
  selected_weights = selected(nn::value_of(down_.weight));
  selected_biases = selected(down_.bias);
  proj_out = batched_linear(proj_out, selected_weights, selected_biases);
  const Tensor weighted_out = proj_out.mul(sample_weights.unsqueeze(-1));
  const Tensor final_hidden_states =
      weighted_out.view({num_tokens, num_top_k, hidden_states.size(-1)}).sum(1);
  return final_hidden_states.to(hidden_states.dtype());
}

}  // namespace memtape::family
