// SPDX-License-Identifier: Apache-2.0
// How Vulkan sorts its part of a graph (ggml-vulkan.cpp, ggml_vk_graph_optimize): what does not
// depend on one another comes together, within a window of twenty nodes, so that it runs side by
// side; what one kernel computes stays together.
#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "ggml/vulkan_backend.h"

namespace memtape::ggml {
namespace {

constexpr std::size_t kWindow = 20;
constexpr std::size_t kPartnerWindow = 15, kStoreWindow = 10;

constexpr std::array kSoftmaxNormed{Op::soft_max, Op::reshape,  Op::argsort, Op::view, Op::get_rows,
                                    Op::reshape,  Op::sum_rows, Op::clamp,   Op::div,  Op::reshape};
constexpr std::array kSigmoidNormed{Op::unary, Op::reshape,  Op::add,     Op::argsort,
                                    Op::view,  Op::get_rows, Op::reshape, Op::sum_rows,
                                    Op::clamp, Op::div,      Op::reshape};
constexpr std::array kRootNormed{Op::unary,    Op::sqrt,  Op::reshape,  Op::add,
                                 Op::argsort,  Op::view,  Op::get_rows, Op::reshape,
                                 Op::sum_rows, Op::clamp, Op::div,      Op::reshape};
constexpr std::array kSoftmax{Op::soft_max, Op::reshape, Op::argsort, Op::view, Op::get_rows};
constexpr std::array kLateSoftmax{Op::argsort, Op::view,     Op::get_rows,
                                  Op::reshape, Op::soft_max, Op::reshape};
/// The choices of experts that one kernel makes.
constexpr std::array<std::span<const Op>, 5> kWhole{kSoftmaxNormed, kSigmoidNormed, kRootNormed,
                                                    kSoftmax, kLateSoftmax};

/// The second may follow the first at once.
constexpr std::array<std::pair<Op, Op>, 7> kPairs{{{Op::rms_norm, Op::mul},
                                                   {Op::mul_mat, Op::add},
                                                   {Op::mul_mat_id, Op::add_id},
                                                   {Op::mul_mat_id, Op::mul},
                                                   {Op::add, Op::add},
                                                   {Op::ssm_conv, Op::add},
                                                   {Op::ssm_conv, Op::unary}}};

bool is_empty(const Tensor& node) { return node.op == Op::none || is_view_op(node.op); }

/// Views of one tensor depend on each other, too.
bool depends(const Tensor& node, const Tensor& on) {
  if (std::ranges::find(node.src, &on) != node.src.end()) return true;
  const auto base = [](const Tensor& t) { return t.view_src ? t.view_src : &t; };
  return base(node) == base(on);
}

class VulkanSorter {
 public:
  explicit VulkanSorter(const std::vector<Tensor*>& nodes)
      : nodes_(nodes), used_(nodes.size(), false) {}

  std::vector<Tensor*> run() {
    while (first_ < nodes_.size()) {
      if (!keep_whole()) {
        gather_nodes();
        gather_views();
        take_set();
      }
      while (first_ < nodes_.size() && used_[first_]) ++first_;
    }
    return std::move(order_);
  }

 private:
  Op op(std::size_t i) const { return nodes_[i]->op; }
  std::size_t window(std::size_t from, std::size_t size) const {
    return std::min(from + size, nodes_.size());
  }

  bool matches(std::span<const Op> ops, std::size_t at) const {
    if (at + ops.size() > nodes_.size()) return false;
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (op(at + i) != ops[i] || used_[at + i]) return false;
    return true;
  }

  void push(std::size_t i) {
    order_.push_back(nodes_[i]);
    done_.insert(nodes_[i]);
    used_[i] = true;
  }

  bool keep_whole() {
    for (const std::span<const Op> ops : kWhole) {
      if (!matches(ops, first_)) continue;
      for (std::size_t i = first_, end = first_ + ops.size(); i < end; ++i) push(i);
      return true;
    }
    return false;
  }

  bool may_follow_at_once(std::size_t j, std::size_t c) const {
    return j == c + 1 && c == set_.back() &&
           std::ranges::find(kPairs, std::pair(op(c), op(j))) != kPairs.end();
  }

  /// Nothing that has not run stands in the way.
  bool is_ready(std::size_t j) const {
    for (std::size_t c = first_; c < j; ++c)
      if (!used_[c] && depends(*nodes_[j], *nodes_[c]) && !may_follow_at_once(j, c)) return false;
    return true;
  }

  void gather_nodes() {
    set_ = {first_};
    for (std::size_t j = first_ + 1; j < window(first_, kWindow); ++j) {
      if (used_[j] || is_empty(*nodes_[j])) continue;
      if (std::ranges::any_of(kWhole, [&](auto ops) { return matches(ops, j); })) continue;
      if (!is_ready(j)) continue;
      set_.push_back(j);
      bring_along(j);
    }
  }

  void bring(std::size_t i) {
    set_.push_back(i);
    used_[i] = true;
  }

  /// What one kernel computes together with `j`.
  void bring_along(std::size_t j) {
    const auto follows = [&](Op of, Op before) { return op(j) == of && op(j - 1) == before; };
    std::size_t rope = j;
    if (follows(Op::mul, Op::rms_norm)) rope = bring_rope(j);
    if (op(rope) == Op::rope) bring_store(rope);
    if (follows(Op::add_id, Op::mul_mat_id)) bring_partner(j, Op::mul, true);
    if (follows(Op::add, Op::mul_mat)) bring_partner(j, Op::add, true);
    if (follows(Op::add, Op::ssm_conv)) bring_partner(j, Op::unary, false);
  }

  std::size_t bring_rope(std::size_t j) {
    const auto given = [](const Tensor* t) { return !t || t->op == Op::none; };
    for (std::size_t k = j + 1; k < window(j, kPartnerWindow); ++k)
      if (op(k) == Op::rope && nodes_[k]->src[0] == nodes_[j] && given(nodes_[k]->src[1]) &&
          given(nodes_[k]->src[2])) {
        bring(k);
        return k;
      }
    return j;
  }

  /// The view of what was rotated, and its way into the cache.
  void bring_store(std::size_t rope) {
    std::size_t view = 0;
    for (std::size_t k = rope + 1; k < window(rope, kStoreWindow); ++k) {
      if (view == 0 && op(k) == Op::view && nodes_[k]->src[0] == nodes_[rope]) {
        view = k;
      } else if (view != 0 && op(k) == Op::set_rows && nodes_[k]->src[0] == nodes_[view]) {
        bring(view);
        bring(k);
        return;
      }
    }
  }

  void bring_partner(std::size_t j, Op kind, bool binary) {
    for (std::size_t k = j + 1; k < window(j, kPartnerWindow); ++k) {
      if (op(k) != kind || nodes_[k]->src[0] != nodes_[j]) continue;
      const Tensor* other = nodes_[k]->src[1];
      if (binary && other->op != Op::none && !done_.contains(other)) continue;
      return bring(k);
    }
  }

  /// Views whose sources are there; not behind a sum, whose kernel takes the next node, too.
  void gather_views() {
    if (op(set_.back()) == Op::add) return;
    for (std::size_t j = first_ + 1; j < window(first_, kWindow); ++j) {
      if (used_[j] || !is_empty(*nodes_[j])) continue;
      bool ready = true;
      for (std::size_t c = first_; c < j && ready; ++c)
        ready = used_[c] || !depends(*nodes_[j], *nodes_[c]) ||
                std::ranges::find(set_, c) != set_.end();
      if (ready) set_.push_back(j);
    }
  }

  void take_set() {
    for (const std::size_t i : set_) push(i);
  }

  const std::vector<Tensor*>& nodes_;
  std::vector<bool> used_;
  std::vector<Tensor*> order_;
  std::set<const Tensor*> done_;
  std::vector<std::size_t> set_;
  std::size_t first_ = 0;
};

}  // namespace

void VulkanBackend::reorder(std::vector<Tensor*>& nodes) const {
  if (device_.sorts) nodes = VulkanSorter(nodes).run();
}

}  // namespace memtape::ggml
