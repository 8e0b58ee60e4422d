// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/hybrid_stack.h"

#include "framework/megatron/activations.h"

namespace memtape::megatron {

HybridLayer::HybridLayer(const nn::Scope& scope, Rank& rank, char letter)
    : rank_(rank), scope_(scope.node().scope) {
  if (letter == 'M') {
    mamba_.emplace(scope / "mixer", rank);
  } else if (letter == '*') {
    attention_.emplace(scope / "self_attention", rank, false);
  } else if (letter == 'E') {
    norm_.emplace(scope / "pre_mlp_layernorm", rank, rank.a.hidden_size);
    moe_.emplace(scope / "mlp", rank);
  } else {
    mlp_.emplace(scope / "mlp", rank);
  }
}

Tensor HybridLayer::operator()(const Tensor& x, const LayerInputs& inputs) {
  const ghost::ScopeGuard guard(scope_);
  const Tensor residual = x;
  Tensor output, bias;
  if (mamba_) {
    output = (*mamba_)(x);
  } else if (attention_) {
    output = (*attention_)(x, {.mask = inputs.mask, .freqs = inputs.rotary_freqs, .context = {}});
    bias = attention_->bias();
  } else if (moe_) {
    output = (*moe_)((*norm_)(x));
  } else {
    output = (*mlp_)(x);
    bias = mlp_->bias();
  }
  return bias_dropout_add(rank_.a.hidden_dropout, output, bias, residual);
}

HybridStack::HybridStack(const nn::Scope& scope, Rank& rank, std::string_view letters,
                         bool final_norm) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    layers_.emplace_back(scope / "layers" / static_cast<std::int64_t>(i), rank, letters[i]);
  if (final_norm) final_norm_.emplace(scope / "final_norm", rank, rank.a.hidden_size);
}

Tensor HybridStack::operator()(Tensor hidden_states, const LayerInputs& inputs) {
  for (HybridLayer& layer : layers_) hidden_states = layer(hidden_states, inputs);
  return final_norm_ ? (*final_norm_)(hidden_states) : hidden_states;
}

}  // namespace memtape::megatron
