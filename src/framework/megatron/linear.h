// SPDX-License-Identifier: Apache-2.0
// The linear layers of Megatron-LM: products whose weight is divided over the tensor parallel
// ranks. They have two sources with the same shape: megatron/core/tensor_parallel/layers.py (the
// local spec), and Transformer Engine's Linear and LayerNormLinear (pytorch/module/linear.py,
// layernorm_linear.py), which also normalise their input.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "framework/megatron/activation_offload.h"
#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"
#include "nn/module.h"

namespace memtape::megatron {

/// What the layers on one rank share: the arguments, and Megatron's GlobalMemoryBuffer. Its one
/// buffer, named "mpu", serves scores and gathered inputs alike and never shrinks
/// (megatron/core/utils.py).
class Rank {
 public:
  Rank(const Arguments& arguments, std::int64_t tensor_rank);

  /// The workspace of this thread's cuBLAS handle, if CUBLAS_WORKSPACE_CONFIG gives its size. It is
  /// called after each of PyTorch's products, because they take their output first.
  void use_cublas();

  /// get_global_memory_buffer().get_tensor(sizes, dtype, "mpu")
  Tensor global_buffer(const Dims& sizes, DType dtype);
  /// Transformer Engine's cuBLAS workspace, which the first product takes and keeps
  /// (get_cublas_workspace_size_bytes of pytorch/module/base.py).
  void use_te_workspace();
  /// The workspace of products that overlap with messages, for as many streams as may be in use.
  void use_overlap_workspace();
  /// The workspaces of grouped products, one for each of four streams.
  void use_grouped_workspaces();
  /// get_dummy_wgrad of pytorch/module/base.py: autograd gets this tensor instead of a gradient
  /// that was accumulated into the buffer. There is one for each shape, and it is kept.
  Tensor dummy_wgrad(const Dims& sizes, DType dtype);

  /// The module with that name in --offload-modules.
  OffloadedModule offloaded(std::string_view module) const {
    return {a.offloads(module) ? offload.get() : nullptr, module};
  }

  /// get_cp_stream: the second of the two streams between which ring attention alternates.
  StreamId cp_stream();
  /// torch.cuda.Stream(): the next of a pool of 32 (kStreamsPerPool of c10/cuda/CUDAStream.cpp).
  StreamId next_pooled_stream();
  /// The two orders of chunks of a sequence, before and after attention, which are made once
  /// (get_seq_chunk_ids_for_reordering_before_attn and ..._after_attn of context_parallel.py).
  void use_chunk_order(bool before_attention);

  /// grad_output_buffer: the gradients of logits whose product with the input is deferred to the
  /// end of the schedule (defer_embedding_wgrad_compute).
  std::vector<Tensor> deferred;
  /// embedding_activation_buffer: the inputs of those products, with their history.
  std::vector<Tensor> deferred_inputs;

  /// The members in which modules keep tensors of their last pass until the next one.
  std::vector<Tensor*> kept;
  /// The values of save_to_aux_losses_tracker, indexed by LossKind.
  std::array<Tensor, kLossKinds> loss_trackers;

  /// It is null if nothing is offloaded.
  ghost::Ptr<ActivationOffload> offload;

  const Arguments& a;
  const std::int64_t tp_rank;

 private:
  Tensor buffer_, te_workspace_, overlap_workspace_;
  std::vector<Tensor> dummies_, grouped_workspaces_;
  std::optional<StreamId> cp_stream_;
  std::map<std::pair<StreamId, int>, Tensor> side_workspaces_;  ///< by stream and thread
  std::vector<StreamId> pooled_streams_;
  std::size_t streams_taken_ = 0;
  std::array<Tensor, 2> chunk_orders_;
};

enum class Split { column, row };

/// How a linear layer is built.
struct LinearShape {
  std::int64_t in = 0, out = 0;  ///< those of the whole layer
  Split split = Split::column;
  bool bias = false;
  bool adds_bias = false;  ///< adds it; otherwise the caller does (skip_bias_add)
  bool norm = false;       ///< Transformer Engine's LayerNormLinear
  /// The number of ranks over which it is divided; 0: the tensor parallel size.
  std::int64_t parts = 0;
  bool gathers = true;          ///< sequence parallel: it gathers its input or scatters its output
  bool is_adapter = false;      ///< one of Megatron Core's own layers, beside a frozen one
  bool keeps_original = false;  ///< Arguments::keeps_attended holds for it
};

class LoraAdapter;

class Linear {
 public:
  Linear(const nn::Scope& scope, Rank& rank, const LinearShape& shape);
  Tensor operator()(const Tensor& x);
  /// Several products share an adapter (share_expert_adapters).
  void use_adapter(std::shared_ptr<LoraAdapter> adapter) { adapter_ = std::move(adapter); }

  Tensor weight, bias, norm_weight, norm_bias;

 private:
  Tensor local_forward(const Tensor& x);
  Tensor te_forward(const Tensor& x);
  Tensor te_product(const Tensor& x, ToSave& save);
  /// LoRALinear: the product of a frozen weight, and what its adapter makes of the same input, which
  /// is that behind the norm, gathered.
  Tensor adapted_forward(const Tensor& x);
  Tensor frozen_product(const Tensor& x);
  bool sequence_parallel() const;
  /// get_weight_workspace of pytorch/module/base.py: the weight in 8 or 4 bits, kept from one
  /// micro-batch and one step to the next.
  void cache_weight();
  Tensor added_bias() const;

  Rank& rank_;
  LinearShape shape_;
  ScopeId scope_;
  std::shared_ptr<LoraAdapter> adapter_;
  Tensor weight_rows_, weight_columns_, weight_scale_;  ///< quantized
};

/// What sequence parallelism scatters, an input gradient or an output: 1/parts of the rows.
Tensor scattered(const Tensor& x, std::int64_t parts);

/// x, gathered along its first dimension from `parts` ranks into new memory.
Tensor gathered(const Tensor& x, std::int64_t parts);

/// reduce_scatter_to_sequence_parallel_region: 1/parts of the rows. Backward gathers them.
Tensor scatter_rows(const Tensor& x, std::int64_t parts);

/// gather_from_sequence_parallel_region: the rows of all tensor parallel ranks. Backward scatters
/// them.
Tensor gather_rows(const Tensor& x, std::int64_t parts);

/// gather_from_tensor_model_parallel_region: the columns of all ranks, gathered as rows and joined.
Tensor gather_columns(const Tensor& x, std::int64_t parts);

/// scatter_to_sequence_parallel_region: this rank's rows, within the memory of all.
Tensor own_rows(const Tensor& x, std::int64_t parts);

/// Whether the recipe has an adapter beside a module of that name.
bool has_adapter(const Arguments& a, std::string_view module);

/// TENorm, or torch's own norm in the local spec. It normalises over the last dimension.
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
