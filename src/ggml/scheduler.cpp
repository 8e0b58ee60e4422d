// SPDX-License-Identifier: Apache-2.0
#include "ggml/scheduler.h"

#include <algorithm>
#include <unordered_map>

#include "ggml/assignment.h"
#include "ggml/graph_allocator.h"

namespace memtape::ggml {
namespace {

constexpr int kParallelCopies = 4;  ///< GGML_SCHED_MAX_COPIES

struct Split {
  int backend = 0;
  std::size_t first = 0, last = 0;
  std::vector<Tensor*> inputs;
  std::vector<Tensor*> nodes = {};  ///< as its backend computes them
};

class Splitter {
 public:
  Splitter(Graph& graph, const SchedulerSetup& setup, Assignment& assignment)
      : graph_(graph),
        setup_(setup),
        ids_(assignment),
        copies_(setup.parallel ? kParallelCopies : 1) {}

  Schedule run() {
    split();
    if (copies_ > 1 && setup_.copies_unused) copy_inputs();
    optimize();
    for (const Split& s : splits_) place(s);
    if (copies_ > 1) place_copies();
    for (Tensor* leaf : graph_.leafs()) leafs_.push_back({leaf, ids_.of(leaf)});
    Schedule result;
    result.bytes = reserve({nodes_, leafs_, setup_.buffers, graph_.tensors()});
    result.splits = static_cast<int>(splits_.size());
    return result;
  }

 private:
  struct Copies {
    std::vector<Tensor*> of;  ///< one per round of the pipeline
  };

  std::size_t first_node() const {
    const auto& nodes = graph_.nodes();
    const auto at = std::ranges::find_if(nodes, [](Tensor* t) { return !is_view_op(t->op); });
    return static_cast<std::size_t>(at - nodes.begin());
  }

  void split() {
    const auto& nodes = graph_.nodes();
    std::size_t i = first_node();
    splits_.push_back({i < nodes.size() ? ids_.of(nodes[i]) : 0, 0, 0, {}});
    for (; i < nodes.size(); ++i) {
      if (is_view_op(nodes[i]->op)) continue;
      const int backend = ids_.of(nodes[i]);
      if (backend != splits_.back().backend || brings_weight(*nodes[i])) {
        splits_.back().last = i;
        splits_.push_back({backend, i, 0, {}});
      }
      copy_sources(*nodes[i]);
    }
    splits_.back().last = nodes.size();
  }

  /// A weight from elsewhere starts a split, so that the memory of the last one's can be reused.
  bool brings_weight(const Tensor& node) const {
    const Split& current = splits_.back();
    if (current.inputs.empty()) return false;
    return std::ranges::any_of(node.src, [&](const Tensor* source) {
      return source && source->buffer && source->weight && ids_.of(source) != current.backend &&
             !ids_.can_read(*source, current.backend);
    });
  }

  void copy_sources(Tensor& node) {
    Split& current = splits_.back();
    for (Tensor*& source : node.src) {
      if (source && source->input && copies_ > 1 && !setup_.copies_unused) copy_input(source);
      if (!source || ids_.of(source) == current.backend || ids_.can_read(*source, current.backend))
        continue;
      Copies& copies = copies_of(source, current.backend);
      if (copies.of.empty()) {
        for (int c = 0; c < copies_; ++c) copies.of.push_back(copy_of(*source));
        current.inputs.push_back(source);
      }
      source = copies.of.front();
    }
  }

  Tensor* copy_of(const Tensor& source) {
    Tensor* copy = graph_.like(source);
    copy->input = copy->output = copies_ > 1;
    return copy;
  }

  Copies& copies_of(const Tensor* source, int backend) {
    return copied_[static_cast<std::size_t>(source->id) * setup_.backends.size() +
                   static_cast<std::size_t>(backend)];
  }

  /// Every round of the pipeline has inputs of its own; the first are the graph's.
  void copy_input(Tensor* input) {
    Copies& copies = copies_of(input, ids_.of(input));
    if (!copies.of.empty()) return;
    copies.of.push_back(input);
    while (static_cast<int>(copies.of.size()) < copies_) copies.of.push_back(copy_of(*input));
    input->output = true;
    graph_inputs_.push_back(input);
  }

  void copy_inputs() {
    for (Tensor* leaf : graph_.leafs())
      if (leaf->input) copy_input(leaf);
  }

  const Backend& backend_of(const Split& s) const {
    return *setup_.backends[static_cast<std::size_t>(s.backend)];
  }

  /// Each backend sorts its parts and says what it keeps.
  void optimize() {
    for (Split& s : splits_) {
      const auto begin = graph_.nodes().begin();
      s.nodes.assign(begin + static_cast<std::ptrdiff_t>(s.first),
                     begin + static_cast<std::ptrdiff_t>(s.last));
      backend_of(s).reorder(s.nodes);
      backend_of(s).add_dependencies(s.nodes, dependencies_);
    }
  }

  void place(const Split& s) {
    for (Tensor* input : s.inputs) {
      nodes_.push_back({graph_.alias(input), ids_.of(input)});
      nodes_.push_back({copies_of(input, s.backend).of.front(), s.backend});
    }
    for (Tensor* node : s.nodes) {
      nodes_.push_back({node, ids_.of(node)});
      if (const auto kept = dependencies_.find(node); kept != dependencies_.end())
        hold(kept->second, s.backend);
    }
  }

  /// Nodes that do nothing but keep their sources.
  void hold(const std::vector<Tensor*>& kept, int backend) {
    for (std::size_t k = 0; k < kept.size(); k += kMaxSources) {
      Tensor* holder = graph_.alias(kept[k]);
      for (std::size_t s = 0; s < kMaxSources && k + s < kept.size(); ++s)
        holder->src[s] = kept[k + s];
      nodes_.push_back({holder, backend});
    }
  }

  void place_copies() {
    const auto add = [&](Tensor* input, int backend) {
      for (Tensor* copy : copies_of(input, backend).of) leafs_.push_back({copy, backend});
    };
    for (Tensor* input : graph_inputs_) add(input, ids_.of(input));
    for (const Split& s : splits_)
      for (Tensor* input : s.inputs) add(input, s.backend);
  }

  Graph& graph_;
  const SchedulerSetup& setup_;
  Assignment& ids_;
  int copies_;
  std::vector<Split> splits_;
  std::unordered_map<std::size_t, Copies> copied_;
  std::vector<Tensor*> graph_inputs_;
  AllocDependencies dependencies_;
  std::vector<Placed> nodes_, leafs_;
};

}  // namespace

Schedule schedule(Graph& graph, const SchedulerSetup& setup, const Pins& pins) {
  Assignment assignment(graph, setup, pins);
  assignment.run();
  std::vector<int> backend_of = assignment.all();
  Schedule result = Splitter(graph, setup, assignment).run();
  result.backend_of = std::move(backend_of);
  return result;
}

}  // namespace memtape::ggml
