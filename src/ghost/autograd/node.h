// SPDX-License-Identifier: Apache-2.0
// Node: a function of the autograd graph, as torch::autograd::Node. It keeps what its backward
// formula needs, runs once when all gradients of its outputs have arrived, and lets go of what it
// kept.
//
// A formula mirrors torch's generated code (tools/autograd/derivatives.yaml): gradients are
// computed in alphabetical order of the forward arguments' names, and C++ temporaries in it live to
// the end of their full expression, so name them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/inline_vector.h"
#include "ghost/session.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

/// What happens to tensors that nodes save meanwhile (torch.autograd.graph.saved_tensors_hooks).
class SavedTensorHooks : public RefCounted {
 public:
  virtual ~SavedTensorHooks() = default;
  /// Takes charge of `tensor`; the handle goes to unpack. A negative handle: the node keeps the
  /// tensor itself.
  virtual std::int64_t pack(const Tensor& tensor) = 0;
  virtual Tensor unpack(std::int64_t handle) = 0;
  virtual void drop(std::int64_t handle) = 0;
};
inline void destroy(SavedTensorHooks* hooks) { delete hooks; }

/// Tells the tape that autograd keeps this tensor: what was born a temporary of the forward is an
/// activation.
void note_kept(const Tensor& tensor);

/// A tensor a node keeps for its backward (torch's SavedVariable). Under saved-tensor hooks
/// (checkpointing) it keeps what the hooks made of it instead; what they unpack lives until the
/// node's function returns.
class Saved {
 public:
  Saved() = default;
  /// A node that never runs lets go of what it kept, too: nobody needs that recomputed.
  ~Saved() { reset(); }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;
  /// Keeps an operand.
  void keep(const Tensor& tensor);
  /// Keeps a result of the node itself: its memory without its history, which would make a cycle.
  void keep_result(const Tensor& tensor);
  Tensor unpack() const;
  bool defined() const { return tensor_.defined() || packed_ >= 0; }
  void reset();
  /// Lets go of what the hooks unpacked.
  void forget_unpacked() const { tensor_.reset(); }

 private:
  mutable Tensor tensor_;
  Ptr<SavedTensorHooks> hooks_;
  std::int64_t packed_ = -1;
};

/// Sizes and dtype a gradient must have: those of the forward output it belongs to.
struct InputMetadata {
  Dims sizes;
  DType dtype = DType::float32;
};

struct Edge {
  Ptr<Node> function;
  std::uint32_t input_nr = 0;
};

using Gradients = InlineVector<Tensor, 3>;

/// Hooks of a node: before it runs, on the gradients it is about to get (Tensor.register_hook of
/// its output), and after it has run (Node::add_post_hook).
struct NodeHooks {
  std::vector<std::function<void(Gradients& in)>> before;
  std::vector<std::function<void()>> after;
};

struct Node : RefCounted {
  explicit Node(const char* node_name)
      : name(node_name),
        scope(session().scope),
        sequence(session().next_sequence++),
        stream(session().stream),
        wraps_tensors(session().wraps_tensors) {
    session().keeper = node_name;
  }
  virtual ~Node() = default;

  /// From the gradients of the outputs to those of the inputs; `in[i]` may be undefined, `out` has
  /// one place per edge.
  virtual void apply(Gradients& in, Gradients& out) = 0;
  /// Lets go of what was saved.
  virtual void release() = 0;

  /// Whether someone wants the gradient of input `i` (task_should_compute_output).
  bool wants(std::size_t i) const {
    const Node* const next = edges[i].function.get();
    const std::uint32_t pass = session().selective_pass;
    return next && (pass == 0 || next->wanted_by == pass);
  }

  const char* name;
  ScopeId scope;
  std::uint64_t sequence;
  StreamId stream;              ///< where its backward runs: where its outputs were made
  bool wraps_tensors;           ///< its gradients are of a tensor subclass: none is added in place
  InlineVector<Edge, 3> edges;  ///< one per differentiable input
  InlineVector<InputMetadata, 1> metadata;  ///< one per output of the forward op
  std::size_t bytes = 0;                    ///< of the object, for its pool
  std::unique_ptr<NodeHooks> hooks;

  NodeHooks& add_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }
  bool has_post_hooks() const { return hooks && !hooks->after.empty(); }

  // The engine's, during one backward pass.
  std::uint32_t backward = 0;   ///< the pass the fields below belong to
  std::uint32_t wanted_by = 0;  ///< the last selective pass that has use for its gradient
  int dependencies = 0;
  Gradients buffer;
};
void destroy(Node* node);

/// Makes a node of type N in its pool.
template <class N, class... Args>
Ptr<N> make_node(Args&&... args) {
  auto* node = new (Pool::take(sizeof(N))) N(std::forward<Args>(args)...);
  node->bytes = sizeof(N);
  return Ptr<N>(node);
}

/// Where a gradient of `tensor` goes: its grad_fn, its AccumulateGrad if it is a leaf that wants
/// one, else nowhere.
Edge gradient_edge(const Tensor& tensor);

/// Makes `tensor` output number `output.metadata.size()` of `node`.
void set_history(const Tensor& tensor, const Ptr<Node>& node);

/// One op at work: names it in the tape, and drops operands that were temporaries when it is done.
class Op {
 public:
  Op(const char* name, std::initializer_list<const In*> operands, Role role = Role::none);
  ~Op();
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  /// Whether the result needs a grad_fn.
  bool differentiable() const { return differentiable_; }

  /// A node of type N with one edge per operand in `inputs`. Call only if differentiable().
  template <class N, class... Args>
  Ptr<N> node(std::initializer_list<const Tensor*> inputs, Args&&... args) {
    Ptr<N> made = make_node<N>(std::forward<Args>(args)...);
    for (const Tensor* input : inputs) made->edges.push_back(gradient_edge(*input));
    return made;
  }

 private:
  const char* outer_;
  Role outer_role_;
  std::array<const In*, 5> operands_{};
  bool differentiable_ = false;
};

}  // namespace memtape::ghost
