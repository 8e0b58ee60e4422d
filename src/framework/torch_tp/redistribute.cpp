// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/redistribute.h"

#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::torch_tp {
namespace {

using ghost::Op;

Tensor scratch(const Dims& sizes, DType dtype) {
  return ghost::empty(sizes, dtype, Category::communication);
}

/// The sizes before dimension `d` multiply to one: pieces lie one behind the other.
bool is_outermost(const Dims& sizes, int d) {
  for (int i = 0; i < d; ++i)
    if (sizes[i] != 1) return false;
  return true;
}

/// _maybe_pad_tensor: the local piece in the size of the longest, packed.
Tensor padded(const Tensor& local, int d, std::int64_t longest) {
  if (local.size(d) == longest) return local.contiguous();
  const Op op("constant_pad_nd", {});
  Dims sizes = local.sizes();
  sizes[d] = longest;
  return scratch(sizes, local.dtype());
}

/// Shard._to_replicate_tensor: gathered along the first dimension, then put together along `d`.
Tensor all_gather(const Tensor& local, const Redistribution& change) {
  const int d = ghost::wrap(change.from.dim, local.dim());
  const std::int64_t longest = padded_shard(change.whole, change.mesh.size);
  const Tensor input = padded(local, d, longest);
  Dims sizes = input.sizes();
  sizes[d] = longest * change.mesh.size;
  Tensor gathered;
  {
    const Op op("all_gather_into_tensor", {});
    gathered = scratch(sizes, local.dtype());
  }
  if (!is_outermost(sizes, d)) {
    const Op op("cat", {});
    gathered = scratch(sizes, local.dtype());
  }
  if (sizes[d] == change.whole) return gathered;
  sizes[d] = change.whole;
  return ghost::alias(gathered, sizes, gathered.strides());
}

/// Shard._reduce_shard_tensor.
Tensor reduce_scatter(const Tensor& partial, const Redistribution& change) {
  const int d = ghost::wrap(change.to.dim, partial.dim());
  Tensor input = partial.contiguous();
  if (d != 0) {
    const Op op("cat", {});
    input = scratch(partial.sizes(), partial.dtype());
  }
  Dims sizes = partial.sizes();
  sizes[d] /= change.mesh.size;
  const Op op("reduce_scatter_tensor", {});
  Tensor output;
  if (ghost::recalled("reduce_scatter_tensor", {&output})) return output;
  output = scratch(sizes, partial.dtype());
  ghost::offer("reduce_scatter_tensor", {&output});
  if (change.async && output.impl().storage)
    ghost::session().pending_collectives.push_back({output.impl().storage, input});
  return output;
}

Tensor all_reduce(const Tensor& partial) {
  const Op op("all_reduce", {});
  return scratch(partial.sizes(), partial.dtype());
}

struct RedistributeBackward final : ghost::Node {
  explicit RedistributeBackward(const Redistribution& forward)
      : Node("RedistributeBackward"), change(forward) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    // Gradients of summands stay whole: to cut them up again would only have to be undone.
    Redistribution back = change;
    back.from = change.to;
    back.to = change.from.is_partial() ? kReplicate : change.from;
    if (change.gradient_is_partial) back.from = kPartial;
    out[0] = redistribute_local(in[0], back);
  }
  void release() override {}
  Redistribution change;
};

struct FromLocalBackward final : ghost::Node {
  FromLocalBackward(const Mesh& group, bool adds)
      : Node("_FromTorchTensorBackward"), mesh(group), adds_up(adds) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    out[0] = adds_up ? redistribute_local(in[0], {.mesh = mesh, .from = kPartial, .to = kReplicate})
                     : in[0];
  }
  void release() override {}
  Mesh mesh;
  bool adds_up;
};

struct ToLocalBackward final : ghost::Node {
  ToLocalBackward() : Node("_ToTorchTensorBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override { out[0] = in[0]; }
  void release() override {}
};

/// `out` as the result of a node over `input`.
template <class N, class... Args>
Tensor with_node(const Tensor& input, Tensor out, bool wraps_tensors, Args&&... args) {
  const auto node = ghost::function_node<N>({&input}, std::forward<Args>(args)...);
  if (!node) return out;
  node->wraps_tensors = wraps_tensors;
  ghost::set_history(out, node);
  return out;
}

Tensor same(const Tensor& tensor) { return ghost::alias(tensor, tensor.sizes(), tensor.strides()); }

}  // namespace

Tensor redistribute_local(const Tensor& local, const Redistribution& change) {
  const ghost::GradMode no_grad(false);
  if (change.from == change.to || change.mesh.size == 1) return local;
  if (change.to.is_replicate())
    return change.from.is_partial() ? all_reduce(local) : all_gather(local, change);
  if (change.from.is_partial()) return reduce_scatter(local, change);
  return select_shard(local, change.mesh, change.to.dim);
}

Tensor redistribute(const Tensor& local, const Redistribution& change) {
  const Tensor moved = redistribute_local(local, change);
  return with_node<RedistributeBackward>(local, same(moved), true, change);
}

Tensor from_local(const Tensor& local, const Mesh& mesh, bool adds_up_gradient) {
  return with_node<FromLocalBackward>(local, same(local), true, mesh, adds_up_gradient);
}

Tensor to_local(const Tensor& local) {
  return with_node<ToLocalBackward>(local, same(local), false);
}

Tensor select_shard(const Tensor& whole, const Mesh& mesh, int dim) {
  const ghost::GradMode no_grad(false);
  const Op op("clone", {});
  Dims sizes = whole.sizes();
  const int d = ghost::wrap(dim, whole.dim());
  sizes[d] = shard(sizes[d], mesh.size, mesh.rank);
  return ghost::empty(sizes, whole.dtype());
}

}  // namespace memtape::torch_tp
