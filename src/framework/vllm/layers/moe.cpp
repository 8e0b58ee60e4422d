// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/moe.h"

#include <algorithm>

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

class UnquantizedExperts final : public MoeMethod {
 public:
  void create_weights(Weights& weights, const ExpertShape& s, DType dtype) const override {
    // SGLang's are float32 (UnquantizedFusedMoEMethod of its layers/quantization/unquant.py).
    const DType bias = weights.settings().sglang_layers ? DType::float32 : dtype;
    weights.create("w13_weight", {s.local_experts, s.up(), s.hidden}, dtype);
    if (s.bias) weights.create("w13_bias", {s.local_experts, s.up()}, bias);
    weights.create("w2_weight", {s.local_experts, s.hidden, s.intermediate}, dtype);
    if (s.bias) weights.create("w2_bias", {s.local_experts, s.hidden}, bias);
  }

  /// modular_kernel.py: the output, the workspace, then TritonExperts.
  Tensor apply(Runtime& runtime, const ExpertShape& s, const Tensor& x) const override {
    Tensor output = kernel_output("fused_experts", x.sizes(), x.dtype());
    const DispatchedTokens dispatched(runtime, s, x);
    const std::int64_t tokens = dispatched.count, pairs = tokens * s.top_k;
    runtime.workspace.reserve({bytes_of(x.dtype(), pairs * std::max(s.intermediate, s.hidden)),
                               bytes_of(x.dtype(), pairs * std::max(s.up(), s.hidden))});
    const AlignedExperts aligned(s, tokens, default_block_m(s, tokens));
    return output;
  }
};

}  // namespace

ExpertShape::ExpertShape(const Runtime& runtime, std::int64_t count, std::int64_t chosen,
                         std::int64_t width, std::int64_t inner)
    : experts(count), local_experts(count), top_k(chosen), hidden(width), intermediate(inner) {
  const Parallel& p = runtime.parallel();
  const std::int64_t ranks = static_cast<std::int64_t>(p.tp) * p.dp;
  if (p.expert_parallel && ranks > 1) {
    local_experts = count / ranks + (count % ranks > 0 ? 1 : 0);
    return;
  }
  if (inner % ranks != 0)
    ghost::session().fail({ErrorKind::bad_input, "the experts' width is not divisible by it",
                           "--tensor-parallel-size", "a divisor of " + std::to_string(inner)});
  intermediate = inner / ranks;
}

std::shared_ptr<const MoeMethod> unquantized_experts() {
  static const auto method = std::make_shared<const UnquantizedExperts>();
  return method;
}

std::int64_t default_block_m(const ExpertShape&, std::int64_t tokens) {
  if (tokens <= 32) return 16;
  if (tokens <= 96) return 32;
  return tokens <= 512 ? 64 : 128;
}

bool cuts_tokens(const Parallel& p) { return p.expert_parallel && p.tp > 1 && p.dp > 1; }

DispatchedTokens::DispatchedTokens(const Runtime& runtime, const ExpertShape& s, const Tensor& x)
    : count(x.size(0)) {
  const Parallel& p = runtime.parallel();
  const int replicas = p.dp * p.attention_dp;
  if (replicas == 1) return;
  count *= replicas * (cuts_tokens(p) ? p.tp : 1);
  Dims sizes = x.sizes();
  sizes[0] = count;
  hidden = kernel_output("all_gatherv", sizes, x.dtype());
  weights = kernel_output("all_gatherv", {count, s.top_k}, DType::float32);
  ids = kernel_output("all_gatherv", {count, s.top_k}, DType::int32);
}

AlignedExperts::AlignedExperts(const ExpertShape& s, std::int64_t tokens, std::int64_t block) {
  const std::int64_t pairs = tokens * s.top_k;
  std::int64_t padded = pairs + s.experts * (block - 1);
  if (pairs < s.experts) padded = std::min(pairs * block, padded);
  sorted_ids = kernel_output("moe_align_block_size", {padded}, DType::int32);
  expert_ids = kernel_output("moe_align_block_size", {(padded + block - 1) / block}, DType::int32);
  num_tokens_post_pad = kernel_output("moe_align_block_size", {1}, DType::int32);
  scratch("moe_align_block_size", (s.experts + 1) * 4);
}

MoeBlock::MoeBlock(const Place& place, const ExpertShape& shape, const MoeOptions& options,
                   const std::function<Shared(const Place&)>& make_shared)
    : Module(place.scope()),
      runtime_(place.runtime()),
      shape_(shape),
      options_(options),
      gate_(place / options.gate_name, options.gate_in.value_or(shape.hidden), {shape.experts},
            {.cut = Cut::replicated,
             .bias = options.gate_bias,
             .quantized = options.quantized_gate,
             .dtype = options.gate_dtype}),
      weights_(place / "experts") {
  if (options.score_bias)
    score_bias_ =
        (place / options.gate_name)
            .parameter("e_score_correction_bias", {shape.experts}, options.score_bias_dtype);
  if (make_shared) shared_ = make_shared(place);
  const Place experts = place / "experts";
  weights_ = Weights(experts);
  const Quantization* scheme = place.quantization();
  if (scheme) method_ = scheme->experts(experts);
  if (!method_) method_ = unquantized_experts();
  if (shape_.local_experts < shape_.experts)  // which of all experts are here
    experts.scope().buffer("expert_map", kernel_output("full", {shape_.experts}, DType::int32));
  method_->create_weights(weights_, shape_, runtime_.dtype());
  if (runtime_.settings.lora) {
    const std::vector<std::int64_t> up(shape_.gated ? 2 : 1, shape_.intermediate);
    runtime_.lora_sites.push_back({.in = shape_.hidden,
                                   .outs = up,
                                   .experts = shape_.local_experts,
                                   .module = "gate_up_proj"});
    runtime_.lora_sites.push_back({.in = shape_.intermediate,
                                   .outs = {shape_.hidden},
                                   .experts = shape_.local_experts,
                                   .module = "down_proj"});
  }
  auto& queue = method_->processes_while_loading(runtime_, shape_) ? runtime_.while_loading
                                                                   : runtime_.after_loading;
  queue.push_back([this, &node = experts.scope().node()] {
    const ghost::ScopeGuard guard(node.scope);
    const ProcessedWeights offloaded(runtime_, node);
    method_->process_weights(weights_, shape_, runtime_);
  });
}

std::int64_t MoeMethod::hidden_width(const ExpertShape& shape) const { return shape.hidden; }

/// moe_runner.py, _maybe_pad_hidden_states.
Tensor MoeBlock::padded(const Tensor& hidden_states) const {
  const std::int64_t width = method_->hidden_width(shape_);
  if (width == hidden_states.size(1)) return hidden_states;
  return kernel_output("pad", {hidden_states.size(0), width}, hidden_states.dtype());
}

Tensor MoeBlock::routed(const Tensor& hidden_states, const Tensor& router_logits) {
  const Tensor wide = padded(hidden_states);
  return chosen(wide, router_logits);
}

Tensor MoeBlock::chosen(const Tensor& hidden_states, const Tensor& router_logits) {
  const std::int64_t tokens = hidden_states.size(0);
  const Dims chosen{tokens, shape_.top_k};
  if (method_->is_monolithic()) return method_->apply(runtime_, shape_, hidden_states);
  if (options_.score_bias || options_.routes_itself) {  // fused_grouped_topk, or the model's own
    const Tensor weights = kernel_output("grouped_topk", chosen, DType::float32);
    const Tensor ids = kernel_output("grouped_topk", chosen, DType::int32);
    return method_->apply(runtime_, shape_, hidden_states);
  }
  if (options_.weighs_input) return weighed(hidden_states, router_logits);
  if (options_.sparse_mixer) {
    const Tensor weights = kernel_output("cat", chosen, router_logits.dtype());
    const Tensor ids = kernel_output("cat", chosen, DType::int64);
    return method_->apply(runtime_, shape_, hidden_states);
  }
  const Tensor weights = kernel_output("topk_softmax", chosen, DType::float32);
  const Tensor ids = kernel_output("topk_softmax", chosen, DType::int32);
  {
    const Tensor token_expert_indices = kernel_output("topk_softmax", chosen, DType::int32);
    // topk_softmax_kernels.cu: other counts than powers of two up to 256 need the whole softmax.
    constexpr std::int64_t kMostInRegisters = 256;
    const std::int64_t count = shape_.experts;
    if (count > kMostInRegisters || (count & (count - 1)) != 0)
      scratch("topk_softmax", tokens * count * 4);
  }
  return method_->apply(runtime_, shape_, hidden_states);
}

/// llama4.py, custom_routing_function; no_dp_ep.py multiplies the input with the weights.
Tensor MoeBlock::weighed(const Tensor& hidden_states, const Tensor& router_logits) {
  const Dims chosen{hidden_states.size(0), shape_.top_k};
  Tensor weights, ids;
  {
    const Tensor scores = kernel_output("max", chosen, router_logits.dtype());
    const Tensor indices = kernel_output("max", chosen, DType::int64);
    {
      const Tensor wide = kernel_output("to", chosen, DType::float32);
      weights = kernel_output("sigmoid", chosen, DType::float32);
    }
    ids = kernel_output("to", chosen, DType::int32);
  }
  const Tensor product = kernel_output("mul", hidden_states.sizes(), hidden_states.dtype());
  return method_->apply(runtime_, shape_, product);
}

/// GateLinear.forward: an input of another type than the weight's is cast.
Tensor MoeBlock::gate_logits(const Tensor& hidden_states) {
  if (!options_.gate_dtype || *options_.gate_dtype == hidden_states.dtype())
    return gate_(hidden_states);
  const Tensor cast = kernel_output("to", hidden_states.sizes(), *options_.gate_dtype);
  return gate_(cast);
}

Tensor MoeBlock::all_reduced(const Tensor& x) const {
  const Tensor reduced = all_reduce(runtime_, x);
  const std::int64_t width = transforms_.out ? reduced.size(1) : shape_.hidden;
  return reduced.size(1) == width ? reduced : reduced.slice(-1, 0, width);
}

/// gate_linear.py writes float32 from products in the model's type.
Tensor MoeBlock::gate(const Tensor& hidden_states) {
  if (!options_.float32_logits) return gate_logits(hidden_states);
  return kernel_output("gate", {hidden_states.size(0), shape_.experts}, DType::float32);
}

/// sequence_parallel_chunk: this rank's part of the tokens, a view.
Tensor MoeBlock::own_part(const Tensor& hidden_states) const {
  if (!cuts_tokens(runtime_.parallel())) return hidden_states;
  return hidden_states.slice(0, 0, ceil_div(hidden_states.size(0), runtime_.tp()));
}

/// The parts of all ranks, in the place of a sum over them.
Tensor MoeBlock::whole(const Tensor& part, std::int64_t tokens) const {
  if (!cuts_tokens(runtime_.parallel())) return all_reduced(part);
  return kernel_output("all_gather", {tokens, part.size(1)}, part.dtype());
}

Tensor MoeBlock::forward(const Tensor& all) {
  const Tensor hidden_states = own_part(all);
  Tensor router_logits = gate(hidden_states);
  Tensor routed_input = transforms_.in ? transforms_.in(hidden_states) : hidden_states;
  Tensor shared_output;
  if (shared_) shared_output = shared_(hidden_states);
  Tensor fused_output = routed(routed_input, router_logits);
  router_logits.reset();
  routed_input.reset();
  if (transforms_.out) fused_output = transforms_.out(fused_output);
  if (!shared_) return whole(fused_output, all.size(0));
  // Both parts are held until the sum has been reduced.
  const Tensor sum = kernel_output("add", fused_output.sizes(), fused_output.dtype());
  return whole(sum, all.size(0));
}

}  // namespace memtape::vllm
