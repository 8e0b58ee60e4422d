// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/shared_experts.h"

#include <limits>
#include <utility>

#include "framework/megatron/activations.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {
namespace {

using ghost::Gradients;

/// set_tensor_grad_fn_sequence_sr(tensor, torch.iinfo(torch.int).max): among the nodes that are
/// ready in backward this one goes first.
void put_first(const Tensor& tensor) {
  constexpr auto kFirst = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  if (tensor.defined() && tensor.impl().grad_fn) tensor.impl().grad_fn->sequence = kFirst;
}

/// copy_to_tensor_model_parallel_region and reduce_from_tensor_model_parallel_region: sums over the
/// ranks are made in place, forward or backward.
Tensor in_place(const char* name, const Tensor& x) {
  return apply({.name = name,
                .inputs = {x},
                .forward = [&](ToSave&) { return x.view(x.sizes()); },
                .backward = [](std::span<const Tensor>, const Tensor& grad,
                               Gradients& in) { in[0] = grad; }});
}

}  // namespace

Result<void> check_shared_experts(const Arguments& a) {
  if (!a.moe.shared_overlap) return {};
  if (a.moe.gathers_tokens)
    return bad_input("shared experts run beside an exchange of tokens alone",
                     "--moe-shared-expert-overlap", "--moe-token-dispatcher-type alltoall");
  if (a.recomputes("shared_experts"))
    return bad_input("shared experts that run beside the exchange of tokens cannot be made again",
                     "--recompute-modules", "leave shared_experts out");
  return {};
}

SharedExperts::SharedExperts(const nn::Scope& scope, Rank& rank) : rank_(rank) {
  const Arguments& a = rank.a;
  const bool overlaps = a.moe.shared_overlap;
  const std::int64_t width = a.moe.shared_expert_size;
  const std::int64_t gate = gate_factor(a);
  if (a.moe.shared_gate) gate_ = scope.parameter("gate_weight", {1, a.hidden_size});
  fc1_ = std::make_unique<Linear>(
      scope / "linear_fc1", rank,
      LinearShape{.in = a.hidden_size, .out = gate * width, .gathers = !overlaps});
  fc2_ = std::make_unique<Linear>(
      scope / "linear_fc2", rank,
      LinearShape{.in = width, .out = a.hidden_size, .split = Split::row, .gathers = !overlaps});
  if (overlaps) stream_ = rank.next_pooled_stream();
}

Tensor SharedExperts::score_of(const Tensor& x) const {
  const Tensor logits = x.matmul(gate_.t());
  return ghost::sigmoid(logits);
}

Tensor SharedExperts::operator()(const Tensor& x) {
  Tensor intermediate = (*fc1_)(x);
  intermediate = activation(rank_.a, intermediate, Tensor());
  Tensor output = (*fc2_)(intermediate);
  if (!gate_.defined()) return output;
  intermediate.reset();
  const Tensor score = score_of(x);
  return output.mul(score);
}

void SharedExperts::pre_forward_comm(const Tensor& input) {
  const ghost::StreamGuard side(stream_);
  if (gate_.defined()) score_ = score_of(input);
  fc1_input_ = rank_.a.sequence_parallel ? gather_rows(input, rank_.a.tp)
                                         : in_place("_CopyToModelParallelRegionBackward", input);
  put_first(fc1_input_);
}

void SharedExperts::fc1_forward_and_act(const Tensor& exchanged) {
  put_first(exchanged);
  const ghost::StreamGuard side(stream_);
  const Tensor intermediate = (*fc1_)(fc1_input_);
  fc1_input_.reset();
  fc2_input_ = activation(rank_.a, intermediate, Tensor());
}

void SharedExperts::fc2_forward(const Tensor& exchanged) {
  put_first(exchanged);
  const ghost::StreamGuard side(stream_);
  fc2_output_ = (*fc2_)(fc2_input_);
  fc2_input_.reset();
}

void SharedExperts::post_forward_comm() {
  const ghost::StreamGuard side(stream_);
  output_ = rank_.a.sequence_parallel
                ? scatter_rows(fc2_output_, rank_.a.tp)
                : in_place("_ReduceFromModelParallelRegionBackward", fc2_output_);
  fc2_output_.reset();
  put_first(output_);
}

Tensor SharedExperts::output() {
  const ghost::StreamGuard side(stream_);
  Tensor found = std::exchange(output_, {});
  if (!gate_.defined()) return found;
  return found.mul(std::exchange(score_, {}));
}

}  // namespace memtape::megatron
