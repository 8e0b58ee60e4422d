// SPDX-License-Identifier: Apache-2.0
// PipelineStage: one stage of the pipeline and what it holds for each micro-batch
// (torch/distributed/pipelining/stage.py).
//
// Buffers for what other stages send are allocated once, for every micro-batch: for inputs, except
// in the first stage, and for gradients of outputs, except in the last. The output and the graph of
// a micro-batch live in fwd_cache from its forward to its backward; the gradient of its input lives
// in bwd_cache until it is sent.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/torch_pp/partial_backward.h"
#include "framework/torch_pp/stage_module.h"

namespace memtape::torch_pp {

/// The number of the stage, and the number of stages.
struct StagePlace {
  std::int64_t index = 0, count = 1;
};

/// The tensors that stages hand to one another.
struct Activations {
  ghost::Dims sizes;
  DType dtype = DType::bfloat16;
};

enum class BackwardPart { full, input };

class PipelineStage {
 public:
  PipelineStage(StageModule& module, const StagePlace& place) : module_(module), place_(place) {}

  std::int64_t index() const { return place_.index; }
  bool is_first() const { return place_.index == 0; }
  bool is_last() const { return place_.index + 1 == place_.count; }
  StageModule& module() const { return module_; }

  /// _get_init_p2p_neighbors_ops: two tensors of one number, which are sent around to open the
  /// connections.
  void add_init_ops(std::vector<Tensor>& ops) const;
  /// _shape_inference: one forward of zeros, which gives the shapes of the outputs.
  void infer_shapes(const Tensor& tokens, const Activations& activations);
  void prepare_forward_infra(std::int64_t microbatches, const Activations& activations);
  void prepare_backward_infra(std::int64_t microbatches, const Activations& activations);

  void clear_runtime_states();
  Tensor forward_one_chunk(std::size_t chunk, const Tensor& tokens, bool save_forward_output);
  /// `loss` is needed in the last stage.
  void backward_one_chunk(std::size_t chunk, const Tensor& loss, BackwardPart part);
  void backward_weight_one_chunk(std::size_t chunk);

  /// What is sent: the output, and the gradient of the input, which leaves the cache.
  std::vector<Tensor> forward_sends(std::size_t chunk) const;
  std::vector<Tensor> backward_sends(std::size_t chunk);

  // If the next stage is on the same rank, tensors are handed over as they are.
  void set_local_forward_input(const Tensor& output, std::size_t chunk);
  Tensor take_local_backward_output(std::size_t chunk);
  void set_local_backward_input(const Tensor& gradient, std::size_t chunk);

  /// The outputs of the last stage, in the order of the forwards.
  const std::vector<Tensor>& output_chunks() const { return output_chunks_; }

 private:
  struct Forward {
    Tensor output, input;
  };
  struct Delayed {
    Tensor input;
    std::vector<ParamGroup> param_groups;
    Tensor stage_output, output_grad;
  };

  StageModule& module_;
  StagePlace place_;
  std::vector<Tensor> args_recv_, grad_recv_;  ///< one for each micro-batch
  std::vector<Forward> forward_cache_;
  std::vector<Tensor> backward_cache_;
  std::vector<Delayed> backward_state_;
  std::vector<Tensor> output_chunks_;
};

}  // namespace memtape::torch_pp
