// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/moe_layer.h"

#include "framework/megatron/activations.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {

MoeLayer::MoeLayer(const nn::Scope& scope, Rank& rank)
    : rank_(rank),
      router_(scope / "router", rank),
      dispatcher_(make_token_dispatcher(rank)),
      experts_(scope / "experts", rank) {
  const Arguments& a = rank.a;
  const std::int64_t width = a.moe.shared_expert_size;
  if (width == 0) return;
  const std::int64_t gate = a.activation == Activation::swiglu ? 2 : 1;
  const nn::Scope shared = scope / "shared_experts";
  if (a.moe.shared_gate) shared_gate_ = shared.parameter("gate_weight", {1, a.hidden_size});
  shared_fc1_ = std::make_unique<Linear>(shared / "linear_fc1", rank,
                                         LinearShape{.in = a.hidden_size, .out = gate * width});
  shared_fc2_ =
      std::make_unique<Linear>(shared / "linear_fc2", rank,
                               LinearShape{.in = width, .out = a.hidden_size, .split = Split::row});
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

/// SharedExpertMLP.forward.
Tensor MoeLayer::shared(const Tensor& x) {
  const auto run = [this](std::span<const Tensor> in) {
    Tensor intermediate = (*shared_fc1_)(in[0]);
    intermediate = activation(rank_.a, intermediate, Tensor());
    Tensor output = (*shared_fc2_)(intermediate);
    if (!shared_gate_.defined()) return output;
    intermediate.reset();
    const Tensor logits = in[0].matmul(shared_gate_.t());
    const Tensor score = ghost::sigmoid(logits);
    return output.mul(score);
  };
  const std::vector<Tensor> inputs{x};
  return rank_.a.recomputes("shared_experts") ? checkpoint(run, inputs) : run(inputs);
}

Tensor MoeLayer::operator()(const Tensor& x) {
  if (!shared_fc1_) return routed(x);
  const Tensor shared_output = shared(x);
  return routed(x).add(shared_output);
}

}  // namespace memtape::megatron
