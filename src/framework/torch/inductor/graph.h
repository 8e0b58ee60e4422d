// SPDX-License-Identifier: Apache-2.0
// Graph: what torch.compile makes of a part of a model, as far as memory goes: one graph for the
// forward and one for the backward, cut apart by AOTAutograd's partitioner.
//
// Three kinds of values. A kernel's (a product, attention, a collective, a product of complex
// numbers) is a buffer of its own. A fused value (pointwise, norms) becomes a buffer only where a
// kernel reads it or the graph returns it; else it is computed in the registers of its readers
// (inductor/scheduler.py). A reduction's few numbers are a buffer, too, but what it reads is fused
// into it. A buffer goes with its last reader (`del buf`); a fused value takes over the buffer of
// an operand of its size that ends there (buffer reuse in place).
//
// What the forward of a part saves is the partitioner's rule (functorch/_aot_autograd,
// partitioners.py, min_cut_rematerialization_partition): kernels are never computed twice and fused
// values always are, so that the inputs and the outputs of kernels that the backward reads are
// saved; where checkpointing tags say what to keep, that is saved and all else is computed again.
// Of whole models the cut itself is made (partition.h).
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
  Bytes scratch = 0;          ///< that a kernel takes while it runs
  bool backward = false;      ///< of the backward
  bool checkpoint = false;    ///< tagged to be saved
  bool recomputable = false;  ///< a kernel that the partitioner takes for as cheap as a fused value
  bool banned = false;        ///< a fused value that the partitioner does not compute twice
  bool unfusible = false;     ///< which it does not take to be fused with its neighbours, either
  bool is_static = false;     ///< an input that stays: a parameter or a buffer of the model
  bool held = false;          ///< returned: no other value takes over its buffer
  int checkpointed = 0;       ///< in the n-th checkpointed call, and computed again; 0: in none
  int length = 1;             ///< FX nodes from an operand to it
  std::size_t nodes = 0;      ///< FX nodes it stands for, views before it among them
  ScopeId scope = 0;          ///< the module it belongs to
  Role role = Role::none;     ///< of its buffer
};

/// What a checkpoint around the part asks for.
enum class Tags { none, recompute_all, selected };

class Graph {
 public:
  ValueId input(const char* op, const Dims& sizes, DType dtype);
  ValueId kernel(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);
  ValueId fused(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);
  /// Another value with sizes of its own: never a buffer.
  ValueId view(const Dims& sizes, ValueId of);
  ValueId reduction(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads);

  /// The module that values added from here on belong to.
  void enter(ScopeId scope) { scope_ = scope; }
  /// The next value stands for so many FX nodes more.
  void add_nodes(std::size_t nodes) { nodes_ += nodes; }
  /// There is no next value: the nodes are those of one before.
  void drop_nodes() { nodes_ = 0; }
  /// From here on values are of the backward.
  void begin_backward() { in_backward_ = true; }

  Value& operator[](ValueId id) { return values_[id]; }
  const Value& operator[](ValueId id) const { return values_[id]; }
  std::size_t size() const { return values_.size(); }

  ValueId hidden = 0, output = 0;           ///< what the part is given, what it gives
  ValueId grad_output = 0, grad_input = 0;  ///< the same of the backward
  std::vector<ValueId> weight_gradients;    ///< in the order of the weights
  Tags tags = Tags::none;

 private:
  ValueId add(Value value);

  std::vector<Value> values_;
  bool in_backward_ = false;
  ScopeId scope_ = 0;
  std::size_t nodes_ = 0;
};

/// Runs the graph's forward on `hidden`; its backward is one node (CompiledFunctionBackward), which
/// gives the gradients of `weights` at its end.
Tensor run_compiled(const std::shared_ptr<const Graph>& graph, const Tensor& hidden,
                    const std::vector<Tensor>& weights);

}  // namespace memtape::torch::inductor
