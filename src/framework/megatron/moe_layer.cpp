// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/moe_layer.h"

namespace memtape::megatron {

MoeLayer::MoeLayer(const nn::Scope& scope, Rank& rank)
    : rank_(rank),
      router_(scope / "router", rank),
      dispatcher_(make_token_dispatcher(rank)),
      experts_(scope / "experts", rank) {
  if (rank.a.moe.shared_expert_size == 0) return;
  shared_ = std::make_unique<SharedExperts>(scope / "shared_experts", rank);
  if (rank.a.moe.shared_overlap) dispatcher_->set_shared_experts(shared_.get());
}

/// custom_forward: its names hold what each of them was given until it is given something else.
Tensor MoeLayer::routed(const Tensor& x) {
  Routing routing = router_(x);
  Tokens preprocessed = dispatcher_->preprocess(x.view({-1, x.size(-1)}), routing);
  routing.probs.reset();
  const Tokens dispatched = dispatcher_->dispatch(preprocessed);
  preprocessed.probs.reset();
  Tensor output;
  {
    const Tokens mine = dispatcher_->postprocess(dispatched);
    const Tensor expert_output = experts_(mine);
    output = dispatcher_->combine_preprocess(expert_output);
  }
  output = dispatcher_->combine(output);
  return dispatcher_->combine_postprocess(output).view(x.sizes());
}

Tensor MoeLayer::shared(const Tensor& x) {
  const auto run = [this](std::span<const Tensor> in) { return (*shared_)(in[0]); };
  const std::vector<Tensor> inputs{x};
  return rank_.a.recomputes("shared_experts") ? checkpoint(run, inputs) : run(inputs);
}

Tensor MoeLayer::operator()(const Tensor& x) {
  if (!shared_ || rank_.a.moe.shared_overlap) return routed(x);
  const Tensor shared_output = shared(x);
  return routed(x).add(shared_output);
}

}  // namespace memtape::megatron
