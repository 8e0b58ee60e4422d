// SPDX-License-Identifier: Apache-2.0
// What CUDA's fused kernels for mixtures of experts keep alive (ggml-cuda.cu, graph_optimize): the
// weighted sum of the experts, and the choice of the top experts. A fused kernel reads its first
// inputs until its last output is written, so they must not be freed in between.
#include <algorithm>
#include <array>
#include <vector>

#include "ggml/cuda_backend.h"

namespace memtape::ggml {
namespace {

using Nodes = std::span<Tensor* const>;

constexpr std::int64_t kMostFusedExperts = 15;  ///< MOE_WEIGHTED_REDUCTION_MAX_EXPERTS

void keep(AllocDependencies& deps, Tensor* tensor, const Tensor* until) {
  if (!tensor) return;
  std::vector<Tensor*>& kept = deps[until];
  if (std::ranges::find(kept, tensor) == kept.end()) kept.push_back(tensor);
}

/// Whether what happens to a stretch of nodes stays within it (ggml.c, ggml_can_fuse_subgraph).
class Stretch {
 public:
  Stretch(Nodes nodes, std::size_t first, std::size_t count)
      : nodes_(nodes.subspan(first, std::min(count, nodes.size() - first))),
        whole_(first + count <= nodes.size()) {}

  bool is(std::span<const Op> ops) const {
    return whole_ && std::ranges::equal(nodes_, ops, {}, [](const Tensor* t) { return t->op; });
  }

  bool is_closed(std::initializer_list<const Tensor*> outputs) const {
    return whole_ && std::ranges::all_of(nodes_, [&](const Tensor* node) {
             if (!node->compute) return false;
             if (std::ranges::find(outputs, node) != outputs.end()) return true;
             return !node->output && uses_within(*node) == node->uses && views_within(*node);
           });
  }

 private:
  int uses_within(const Tensor& node) const {
    int uses = 0;
    bool after = false;
    for (const Tensor* other : nodes_) {
      if (after) uses += static_cast<int>(std::ranges::count(other->src, &node));
      after = after || other == &node;
    }
    return uses;
  }

  bool views_within(const Tensor& node) const {
    const Tensor* base = node.view_src;
    return !base || (base->buffer && base->weight) ||
           std::ranges::find(nodes_, base) != nodes_.end();
  }

  Nodes nodes_;
  bool whole_;
};

bool is_plain_single(const Tensor* t) { return t && t->type == Type::f32 && is_contiguous(*t); }

/// `mul` taken apart into a full operand and one that is broadcast over rows.
struct Weighted {
  Tensor *full = nullptr, *broadcast = nullptr;
};

Weighted weighted_of(const Tensor& mul) {
  const auto is_full = [&](const Tensor* t) { return is_plain_single(t) && same_shape(*t, mul); };
  const auto is_broadcast = [&](const Tensor* t) {
    return is_plain_single(t) && t->ne == Extents{1, mul.ne[1], mul.ne[2], mul.ne[3]};
  };
  for (const std::size_t i : {0U, 1U})
    if (is_full(mul.src[i]) && is_broadcast(mul.src[1 - i])) return {mul.src[i], mul.src[1 - i]};
  return {};
}

/// The weighted sum of experts that begins at a node: mul, then one view per expert and the adds.
struct Reduction {
  Tensor *experts = nullptr, *weights = nullptr, *expert_scale = nullptr;
  const Tensor* result = nullptr;
  std::size_t nodes = 0;
};

bool is_expert_view(const Tensor& view, const Tensor& of, std::size_t expert) {
  return view.src[0] == &of && view.view_src == &of && view.type == Type::f32 &&
         view.ne == Extents{of.ne[0], of.ne[2] * of.ne[3], 1, 1} && view.nb[0] == of.nb[0] &&
         view.nb[1] == of.nb[2] && view.view_offset == static_cast<Bytes>(expert) * of.nb[1];
}

/// The last add, when `nodes` are the views and adds of `weighted` and nothing else.
const Tensor* sum_of_views(Nodes nodes, const Tensor& weighted) {
  std::vector<const Tensor*> views;
  const Tensor* sum = nullptr;
  std::size_t adds = 0;
  for (const Tensor* node : nodes) {
    if (node->op == Op::view) {
      if (!is_expert_view(*node, weighted, views.size())) return nullptr;
      views.push_back(node);
      continue;
    }
    if (node->op != Op::add || adds + 1 >= views.size()) return nullptr;
    if (node->src[0] != (adds == 0 ? views[0] : sum) || node->src[1] != views[adds + 1])
      return nullptr;
    sum = node;
    ++adds;
  }
  const auto experts = static_cast<std::size_t>(weighted.ne[1]);
  return views.size() == experts && adds == experts - 1 ? sum : nullptr;
}

bool find_reduction(Nodes nodes, std::size_t at, Reduction& found) {
  const Tensor* first = nodes[at];
  if (first->op != Op::mul || !is_plain_single(first)) return false;
  const Tensor* weighted = first;
  Weighted parts = weighted_of(*first);
  std::size_t muls = 1;
  if (at + 1 < nodes.size() && nodes[at + 1]->op == Op::mul && is_plain_single(nodes[at + 1])) {
    const Weighted outer = weighted_of(*nodes[at + 1]);
    if (outer.full == first && parts.full) {
      found.expert_scale = parts.broadcast;
      parts.broadcast = outer.broadcast;
      weighted = nodes[at + 1];
      muls = 2;
    }
  }
  const std::int64_t experts = weighted->ne[1];
  if (!parts.full || experts < 2 || experts > kMostFusedExperts) return false;
  const std::size_t count = 2 * static_cast<std::size_t>(experts) + muls - 1;
  if (at + count > nodes.size()) return false;
  found.result = sum_of_views(nodes.subspan(at + muls, count - muls), *weighted);
  if (!found.result || !is_contiguous(*found.result)) return false;
  found.experts = parts.full;
  found.weights = parts.broadcast;
  found.nodes = count;
  return Stretch(nodes, at, count).is_closed({found.result});
}

/// A power of two up to 512, or a count that has a kernel of its own (topk-moe.cu).
bool has_kernel_for(std::int64_t experts) {
  return ((experts & (experts - 1)) == 0 && experts <= 512) || experts == 288 || experts == 576;
}

/// The nodes from a gating activation to the weights of the chosen experts, as far as they go.
class TopExperts {
 public:
  TopExperts(Nodes nodes, std::size_t at) : nodes_(nodes), at_(at) {}

  bool find() {
    const Tensor* gate = nodes_[at_];
    if (gate->op == Op::soft_max)
      ops_ = {Op::soft_max};
    else if (gate->op == Op::unary && gate->kind == static_cast<std::uint8_t>(Unary::sigmoid))
      ops_ = {Op::unary};
    else
      return false;
    return take(Op::reshape) && choose() && weigh() && fits(*gate);
  }

  std::size_t count() const { return ops_.size(); }

 private:
  const Tensor* next() const {
    const std::size_t i = at_ + ops_.size();
    return i < nodes_.size() ? nodes_[i] : nullptr;
  }
  const Tensor* last(std::size_t back = 1) const { return nodes_[at_ + ops_.size() - back]; }

  /// The next node is this op on the one before.
  bool take(Op op) {
    if (!next() || next()->op != op || next()->src[0] != last()) return false;
    ops_.push_back(op);
    return true;
  }

  /// [bias], argsort, view, get_rows.
  bool choose() {
    const Tensor *probs = last(2), *reshaped = last();
    const Tensor* sorted = probs;
    if (next() && next()->op == Op::add && next()->src[0] == probs) {
      sorted = next();
      ops_.push_back(Op::add);
    }
    if (!next() || next()->op != Op::argsort || next()->src[0] != sorted) return false;
    ops_.push_back(Op::argsort);
    if (!take(Op::view)) return false;
    ids_ = last();
    if (!next() || next()->op != Op::get_rows || next()->src[0] != reshaped ||
        next()->src[1] != ids_)
      return false;
    ops_.push_back(Op::get_rows);
    return true;
  }

  /// [reshape, sum_rows, clamp, div, reshape], [scale].
  bool weigh() {
    constexpr std::array kNorm{Op::reshape, Op::sum_rows, Op::clamp, Op::div, Op::reshape};
    if (Stretch(nodes_, at_ + ops_.size(), kNorm.size()).is(kNorm))
      ops_.insert(ops_.end(), kNorm.begin(), kNorm.end());
    if (next() && next()->op == Op::scale && next()->src[0] == last()) ops_.push_back(Op::scale);
    return true;
  }

  bool fits(const Tensor& gate) const {
    const std::int64_t experts = ids_->nb[0] > 0 ? ids_->nb[1] / ids_->nb[0] : 0;
    if (!has_kernel_for(experts) || !is_contiguous(*last()) || !is_contiguous(*gate.src[0]))
      return false;
    if (gate.op == Op::soft_max && (!gate.plain || gate.src[1] || gate.src[2])) return false;
    return Stretch(nodes_, at_, ops_.size()).is_closed({ids_, last()});
  }

  Nodes nodes_;
  std::size_t at_;
  std::vector<Op> ops_;
  const Tensor* ids_ = nullptr;
};

void keep_stretch(Nodes nodes, std::size_t first, std::size_t last, AllocDependencies& deps) {
  if (last >= nodes.size()) return;
  for (std::size_t i = first; i < last; ++i) {
    keep(deps, nodes[i], nodes[last]);
    for (Tensor* source : nodes[i]->src) keep(deps, source, nodes[last]);
  }
}

}  // namespace

void CudaBackend::add_dependencies(Nodes nodes, AllocDependencies& deps) const {
  if (!device_.keeps_fused_inputs) return;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Reduction sum;
    if (find_reduction(nodes, i, sum)) {
      keep(deps, sum.experts, sum.result);
      keep(deps, sum.weights, sum.result);
      keep(deps, sum.expert_scale, sum.result);
      i += sum.nodes - 1;
    }
    TopExperts top(nodes, i);
    if (!top.find()) continue;
    keep_stretch(nodes, i, i + top.count(), deps);
    i += top.count() - 1;
  }
}

}  // namespace memtape::ggml
