// SPDX-License-Identifier: Apache-2.0
// The linear layers of Megatron-LM: products whose weight lies in shards over the tensor parallel
// ranks. Two sources, one shape: megatron/core/tensor_parallel/layers.py (the local spec) and
// Transformer Engine's Linear and LayerNormLinear (pytorch/module/linear.py,
// layernorm_linear.py), which also normalise their input.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "framework/megatron/activation_offload.h"
#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"
#include "nn/module.h"

namespace memtape::megatron {

/// What layers share on one rank: the arguments and Megatron's GlobalMemoryBuffer, whose one buffer
/// named "mpu" serves scores and gathered inputs alike and only grows
/// (megatron/core/utils.py).
class Rank {
 public:
  Rank(const Arguments& arguments, std::int64_t tensor_rank);

  /// The workspace of this thread's cuBLAS handle, where CUBLAS_WORKSPACE_CONFIG says its size.
  /// Called behind each of PyTorch's products, which take their output first.
  void use_cublas();

  /// get_global_memory_buffer().get_tensor(sizes, dtype, "mpu")
  Tensor global_buffer(const Dims& sizes, DType dtype);
  /// Transformer Engine's cuBLAS workspace, taken at its first product and kept
  /// (get_cublas_workspace_size_bytes of pytorch/module/base.py).
  void use_te_workspace();
  /// That of products that overlap with messages, for as many streams as may be in use.
  void use_overlap_workspace();
  /// Those of its grouped products, one for each of four streams.
  void use_grouped_workspaces();
  /// get_dummy_wgrad of pytorch/module/base.py: what autograd is handed instead of a gradient that
  /// was accumulated into the buffer; one per shape, kept.
  Tensor dummy_wgrad(const Dims& sizes, DType dtype);

  /// A module by its name in --offload-modules.
  OffloadedModule offloaded(std::string_view module) const {
    return {a.offloads(module) ? offload.get() : nullptr, module};
  }

  /// get_cp_stream: the other of the two streams that ring attention takes turns on.
  StreamId cp_stream();

  /// grad_output_buffer: gradients of logits whose product with the input waits for the end of the
  /// schedule (defer_embedding_wgrad_compute).
  std::vector<Tensor> deferred;
  /// embedding_activation_buffer: the inputs of those products, with their history.
  std::vector<Tensor> deferred_inputs;

  /// Where modules keep tensors of their last pass until the next one.
  std::vector<Tensor*> kept;
  /// The values of save_to_aux_losses_tracker, by LossKind.
  std::array<Tensor, kLossKinds> loss_trackers;

  /// Null where nothing is offloaded.
  ghost::Ptr<ActivationOffload> offload;

  const Arguments& a;
  const std::int64_t tp_rank;

 private:
  Tensor buffer_, te_workspace_, overlap_workspace_;
  std::vector<Tensor> dummies_, grouped_workspaces_;
  std::optional<StreamId> cp_stream_;
};

enum class Split { column, row };

/// How a linear layer is built.
struct LinearShape {
  std::int64_t in = 0, out = 0;  ///< of the whole layer
  Split split = Split::column;
  bool bias = false;
  bool adds_bias = false;  ///< adds it; otherwise the caller does (skip_bias_add)
  bool norm = false;       ///< Transformer Engine's LayerNormLinear
  std::int64_t parts = 0;  ///< over how many ranks; 0: the tensor parallel size
  bool gathers = true;     ///< sequence parallel: gathers its input, scatters its output
};

class Linear {
 public:
  Linear(const nn::Scope& scope, Rank& rank, const LinearShape& shape);
  Tensor operator()(const Tensor& x);

  Tensor weight, bias, norm_weight, norm_bias;

 private:
  Tensor local_forward(const Tensor& x);
  Tensor te_forward(const Tensor& x);
  Tensor te_product(const Tensor& x, ToSave& save);
  bool sequence_parallel() const;
  /// get_weight_workspace of pytorch/module/base.py: the weight in fp8, kept from micro-batch to
  /// micro-batch and step to step.
  void cache_weight();
  Tensor added_bias() const;

  Rank& rank_;
  LinearShape shape_;
  ScopeId scope_;
  Tensor weight_rows_, weight_columns_, weight_scale_;  ///< fp8
};

/// An input gradient or an output that sequence parallelism scatters: 1/tp of the rows.
Tensor scattered(const Tensor& x, std::int64_t parts);

/// x gathered along its first dimension from `parts` ranks, into new memory.
Tensor gathered(const Tensor& x, std::int64_t parts);

/// reduce_scatter_to_sequence_parallel_region: 1/parts of the rows; backward gathers them.
Tensor scatter_rows(const Tensor& x, std::int64_t parts);

/// gather_from_sequence_parallel_region: the rows of all tensor parallel ranks; backward scatters.
Tensor gather_rows(const Tensor& x, std::int64_t parts);

/// TENorm, or torch's own norm in the local spec, over the last dimension.
class Norm {
 public:
  Norm(const nn::Scope& scope, Rank& rank, std::int64_t width);
  Tensor operator()(const Tensor& x);

  Tensor weight, bias;

 private:
  Rank& rank_;
  ScopeId scope_;
};

}  // namespace memtape::megatron
