// SPDX-License-Identifier: Apache-2.0
// Graph: what torch.compile makes of a part of a model, as far as it affects memory: one graph for
// the forward and one for the backward, which AOTAutograd's partitioner separates.
//
// There are three kinds of values. The value of a kernel (a product, attention, a collective, a
// product of complex numbers) has its own buffer. A fused value (pointwise, norms) becomes a buffer
// only if a kernel reads it or the graph returns it; otherwise it is computed in the registers of
// its readers (inductor/scheduler.py). The few numbers of a reduction are a buffer, too, but what
// the reduction reads is fused into it. A buffer goes after its last reader (`del buf`). A fused
// value takes over the buffer of an operand of the same size that ends there (in-place reuse of
// buffers).
//
// The partitioner decides what the forward of a part saves (functorch/_aot_autograd,
// partitioners.py, min_cut_rematerialization_partition). Kernels are never computed twice and fused
// values always are, so the inputs and the outputs of kernels that the backward reads are saved. If
// checkpointing tags say what to keep, only that is saved and everything else is computed again.
// For whole models the cut itself is computed (partition.h).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::torch::inductor {

using ghost::Dims;
using ghost::Tensor;

/// A value's place in its graph.
using ValueId = std::size_t;

struct Value {
  enum class Kind { input, kernel, fused, reduction, view };
  Kind kind = Kind::kernel;
  const char* op = "";
  Dims sizes;
  DType dtype = DType::bfloat16;
  std::vector<ValueId> reads;
  Bytes scratch = 0;          ///< bytes that a kernel takes while it runs
  bool backward = false;      ///< it belongs to the backward
  bool checkpoint = false;    ///< it is tagged to be saved
  bool recomputable = false;  ///< a kernel that the partitioner considers as cheap as a fused value
  bool banned = false;        ///< a fused value that the partitioner does not compute twice
  bool unfusible = false;     ///< the partitioner does not consider it fusible with its neighbours
  bool is_static = false;     ///< an input that lasts: a parameter or a buffer of the model
  bool held = false;          ///< it is returned, so no other value takes over its buffer
  int checkpointed = 0;   ///< it is in the n-th checkpointed call and is computed again; 0: in none
  int length = 1;         ///< the number of FX nodes from an operand to it
  std::size_t nodes = 0;  ///< the FX nodes for which it stands, with the views before it
  ScopeId scope = 0;      ///< the module to which it belongs
  Role role = Role::none;  ///< the role of its buffer
};

/// What a checkpoint around the part asks for.
enum class Tags { none, recompute_all, selected };

class Graph {
 public:
  ValueId input(const char* op, const Dims& sizes, DType dtype);
  ValueId kernel(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);
  ValueId fused(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);
  /// Another value with its own sizes, which is never a buffer.
  ValueId view(const Dims& sizes, ValueId of);
  ValueId reduction(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);

  /// Sets the module to which the values added from here on belong.
  void enter(ScopeId scope) { scope_ = scope; }
  /// The next value stands for that many additional FX nodes.
  void add_nodes(std::size_t nodes) { nodes_ += nodes; }
  /// There is no next value: the added nodes belong to an earlier one.
  void drop_nodes() { nodes_ = 0; }
  /// From here on, values belong to the backward.
  void begin_backward() { in_backward_ = true; }

  Value& operator[](ValueId id) { return values_[id]; }
  const Value& operator[](ValueId id) const { return values_[id]; }
  std::size_t size() const { return values_.size(); }

  ValueId hidden = 0, output = 0;           ///< the input of the part, and its output
  ValueId grad_output = 0, grad_input = 0;  ///< the same for the backward
  std::vector<ValueId> weight_gradients;    ///< in the order of the weights
  Tags tags = Tags::none;

 private:
  ValueId add(Value value);

  std::vector<Value> values_;
  bool in_backward_ = false;
  ScopeId scope_ = 0;
  std::size_t nodes_ = 0;
};

/// Runs the graph's forward on `hidden`. Its backward is one node (CompiledFunctionBackward), which
/// returns the gradients of `weights` at its end.
Tensor run_compiled(const std::shared_ptr<const Graph>& graph, const Tensor& hidden,
                    const std::vector<Tensor>& weights);

}  // namespace memtape::torch::inductor
