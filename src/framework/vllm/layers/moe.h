// SPDX-License-Identifier: Apache-2.0
// Experts (vllm/model_executor/layers/fused_moe): the router's gate, the choice of experts, shared
// experts, and the routed experts as two products over all of them at once. The scratch memory of
// the products is one workspace, which all layers share and which is kept (modular_kernel.py,
// _allocate_buffers).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

/// The shape of the routed experts on this rank. Tensor parallelism divides every expert; expert
/// parallelism distributes whole experts.
struct ExpertShape {
  ExpertShape(const Runtime& runtime, std::int64_t experts, std::int64_t top_k, std::int64_t hidden,
              std::int64_t intermediate);
  std::int64_t experts, local_experts, top_k, hidden, intermediate;
  bool gated = true;  ///< w13 holds two matrices
  bool bias = false;
  std::int64_t up() const { return (gated ? 2 : 1) * intermediate; }
};

/// FusedMoEMethodBase.
class MoeMethod {
 public:
  virtual ~MoeMethod() = default;
  virtual void create_weights(Weights& weights, const ExpertShape& shape, DType dtype) const = 0;
  virtual void process_weights(Weights&, const ExpertShape&, Runtime&) const {}
  /// As LinearMethod's.
  virtual bool processes_while_loading(const Runtime&, const ExpertShape&) const { return false; }
  /// Whether one monolithic kernel chooses the experts, too.
  virtual bool is_monolithic() const { return false; }
  /// The width that the kernels take. What exceeds the model's width is cut off after the
  /// reduction.
  virtual std::int64_t hidden_width(const ExpertShape& shape) const;
  virtual Tensor apply(Runtime& runtime, const ExpertShape& shape, const Tensor& x) const = 0;
};

/// UnquantizedFusedMoEMethod with Triton's kernels.
std::shared_ptr<const MoeMethod> unquantized_experts();
/// Whether the tokens of a rank are divided over the tensor parallel ranks before they go to
/// experts elsewhere (ParallelConfig.use_sequence_parallel_moe).
bool cuts_tokens(const Parallel& parallel);

/// The tokens that the experts of a rank see. With data parallelism these are the tokens of all
/// ranks, gathered with their weights and experts; they are alive while the products run
/// (prepare_finalize/naive_dp_ep.py; all2all_backend allgather_reducescatter, the default).
struct DispatchedTokens {
  DispatchedTokens(const Runtime& runtime, const ExpertShape& shape, const Tensor& x);
  std::int64_t count;
  Tensor hidden, weights, ids;
};

/// What moe_align_block_size makes. It is alive while the products run.
struct AlignedExperts {
  AlignedExperts(const ExpertShape& shape, std::int64_t tokens, std::int64_t block);
  Tensor sorted_ids, expert_ids, num_tokens_post_pad;
};
/// BLOCK_SIZE_M of get_default_config in fused_moe.py.
std::int64_t default_block_m(const ExpertShape& shape, std::int64_t tokens);

struct MoeOptions {
  bool score_bias = false;  ///< e_score_correction_bias: the router chooses by groups
  DType score_bias_dtype = DType::float32;
  std::optional<DType> gate_dtype{};  ///< the dtype of the router's logits, if it differs
  bool gate_bias = false;
  bool quantized_gate = false;
  const char* gate_name = "gate";
  bool sparse_mixer = false;  ///< phimoe_routing_function
  /// A function of the model chooses the experts, in one kernel (Gemma 4).
  bool routes_itself = false;
  bool float32_logits = false;  ///< the gate is in the model's dtype, its logits are in float32
  /// Llama 4: the input is weighted by the sigmoid of the largest logit, before the experts.
  bool weighs_input = false;
  std::optional<std::int64_t> gate_in{};  ///< the gate's width, if the experts work in another
};

/// moe_runner.py, routed_input_transform and routed_output_transform: what the routed experts alone
/// see, and what brings their output back to the model's width. Both or neither.
struct RoutedTransforms {
  std::function<Tensor(const Tensor&)> in, out;
};

/// MoERunner: gate, router, shared experts, routed experts, sum.
class MoeBlock : public nn::Module<MoeBlock> {
 public:
  using Shared = std::function<Tensor(const Tensor&)>;
  /// `make_shared` builds the shared experts after the gate, as the models do. It may be empty.
  MoeBlock(const Place& place, const ExpertShape& shape, const MoeOptions& options,
           const std::function<Shared(const Place&)>& make_shared = {});
  void transform(RoutedTransforms transforms) { transforms_ = std::move(transforms); }
  Tensor forward(const Tensor& hidden_states);
  /// The two halves of forward(), for models that call them separately.
  Tensor gate(const Tensor& hidden_states);
  Tensor run_experts(const Tensor& hidden_states, const Tensor& router_logits) {
    return all_reduced(routed(hidden_states, router_logits));
  }

 private:
  Tensor all_reduced(const Tensor& x) const;
  Tensor own_part(const Tensor& hidden_states) const;
  Tensor whole(const Tensor& part, std::int64_t tokens) const;
  Tensor gate_logits(const Tensor& hidden_states);
  Tensor routed(const Tensor& hidden_states, const Tensor& router_logits);
  Tensor padded(const Tensor& hidden_states) const;
  Tensor chosen(const Tensor& hidden_states, const Tensor& router_logits);
  Tensor weighed(const Tensor& hidden_states, const Tensor& router_logits);

  Runtime& runtime_;
  ExpertShape shape_;
  MoeOptions options_;
  Linear gate_;
  Tensor score_bias_;
  Shared shared_;
  RoutedTransforms transforms_;
  Weights weights_;
  std::shared_ptr<const MoeMethod> method_;
};

}  // namespace memtape::vllm
