// SPDX-License-Identifier: Apache-2.0
// How Metal sorts its part of a graph (ggml-metal-common.cpp, ggml_graph_optimize): nodes that
// touch nothing of one another's come forward to run side by side; what one kernel computes stays
// together.
#include <algorithm>
#include <array>

#include "ggml/metal_backend.h"

namespace memtape::ggml {
namespace {

constexpr std::size_t kForward = 64, kMostFused = 16;

constexpr std::array kMoved{
    Op::mul_mat,  Op::mul_mat_id, Op::rope,  Op::norm, Op::rms_norm, Op::group_norm, Op::l2_norm,
    Op::sum_rows, Op::ssm_conv,   Op::clamp, Op::tri,  Op::diag,     Op::mul,        Op::ssm_scan,
    Op::add,      Op::sub,        Op::div,   Op::glu,  Op::scale,    Op::unary,      Op::get_rows,
    Op::set_rows, Op::set,        Op::cpy,   Op::cont, Op::repeat};

/// A node, and those that its kernel computes with it.
struct Fused {
  std::vector<Tensor*> nodes;

  bool is_empty() const {
    const Op op = nodes.front()->op;
    return op == Op::none || is_view_op(op);
  }
  bool may_move() const {
    return is_empty() || std::ranges::find(kMoved, nodes.front()->op) != kMoved.end();
  }
};

/// What a set of nodes reads and writes, by the tensors that own the memory.
class Touched {
 public:
  void clear() { uses_.clear(); }

  void add(const Fused& of) {
    each(of, [&](const Tensor* base, bool written) {
      uses_.push_back({base, written});
      return true;
    });
  }

  /// Whether `of` can run beside all of them.
  bool allows(const Fused& of) const {
    return each(of, [&](const Tensor* base, bool written) {
      return std::ranges::none_of(uses_, [&](const Use& use) {
        return (written || use.written) && (use.base == base || touches(*base, *use.base));
      });
    });
  }

 private:
  struct Use {
    const Tensor* base;
    bool written;
  };

  /// The caches of K and V lie one behind the other, and the end of one counts as the next's.
  static bool touches(const Tensor& first, const Tensor& next) {
    return first.buffer && first.buffer == next.buffer && !first.weight && !next.weight &&
           next.id == first.id + 1;
  }

  template <class Visit>
  static bool each(const Fused& of, Visit visit) {
    const auto base = [](const Tensor* t) { return t->view_src ? t->view_src : t; };
    for (const Tensor* node : of.nodes)
      for (const Tensor* source : node->src)
        if (source && !visit(base(source), false)) return false;
    return visit(base(of.nodes.back()), true);
  }

  std::vector<Use> uses_;
};

bool starts_fusion(Op op) { return op == Op::add || op == Op::norm || op == Op::rms_norm; }
bool joins_fusion(Op op) { return starts_fusion(op) || op == Op::mul; }

/// ggml_can_fuse: each is used by the next alone, and all have one shape.
bool fuses(const Tensor& node, const Tensor& next) {
  return node.compute && next.compute && node.uses == 1 && !node.view_src && !node.output &&
         (next.src[0] == &node || next.src[1] == &node) && same_shape(node, next);
}

std::vector<Fused> fused(const std::vector<Tensor*>& nodes) {
  std::vector<Fused> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Fused one{{nodes[i]}};
    if (starts_fusion(nodes[i]->op))
      while (i + 1 < nodes.size() && one.nodes.size() < kMostFused &&
             joins_fusion(nodes[i + 1]->op) && fuses(*nodes[i], *nodes[i + 1]))
        one.nodes.push_back(nodes[++i]);
    all.push_back(std::move(one));
  }
  return all;
}

class MetalSorter {
 public:
  explicit MetalSorter(const std::vector<Tensor*>& nodes)
      : all_(fused(nodes)), used_(all_.size(), false) {}

  std::vector<Tensor*> run() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (used_[i]) continue;
      if (!all_[i].is_empty() && !together_.allows(all_[i])) bring_forward(i);
      take(i);
    }
    return std::move(order_);
  }

 private:
  void take(std::size_t i) {
    together_.add(all_[i]);
    order_.insert(order_.end(), all_[i].nodes.begin(), all_[i].nodes.end());
    used_[i] = true;
  }

  /// Before `from`, which has to wait for those that run together, what need not.
  void bring_forward(std::size_t from) {
    Touched waiting;
    waiting.add(all_[from]);
    for (std::size_t i = from + 1; i < std::min(from + kForward, all_.size()); ++i) {
      if (used_[i]) continue;
      if (!all_[i].may_move()) break;
      if ((all_[i].is_empty() || together_.allows(all_[i])) && waiting.allows(all_[i]))
        take(i);
      else
        waiting.add(all_[i]);
    }
    together_.clear();
  }

  std::vector<Fused> all_;
  std::vector<bool> used_;
  std::vector<Tensor*> order_;
  Touched together_;
};

}  // namespace

void MetalBackend::reorder(std::vector<Tensor*>& nodes) const {
  if (device_.sorts) nodes = MetalSorter(nodes).run();
}

}  // namespace memtape::ggml
