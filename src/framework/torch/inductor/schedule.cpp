// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/schedule.h"

#include <algorithm>

namespace memtape::torch::inductor {
namespace {

class Scheduler {
 public:
  Scheduler(const Graph& graph, const std::vector<ValueId>& given)
      : graph_(graph), is_there_(graph.size()), feeds_kernel_(graph.size()) {
    for (const ValueId id : given) is_there_[id] = true;
    for (ValueId id = 0; id < graph.size(); ++id)
      if (graph[id].kind == Value::Kind::kernel)
        for (const ValueId read : graph[id].reads) feeds_kernel_[read] = true;
  }

  /// Makes a buffer of the value, and first of all that it reads.
  void make(ValueId id) {
    if (is_there_[id]) return;
    std::vector<ValueId> reads;
    for (const ValueId read : graph_[id].reads) resolve(read, reads);
    is_there_[id] = true;
    steps_.push_back({id, std::move(reads)});
  }

  std::vector<Step> take() { return std::move(steps_); }

 private:
  /// The buffers behind an operand.
  void resolve(ValueId id, std::vector<ValueId>& buffers) {
    const Value& value = graph_[id];
    if (!is_there_[id] && value.kind == Value::Kind::fused && !feeds_kernel_[id]) {
      for (const ValueId read : value.reads) resolve(read, buffers);
      return;
    }
    make(id);
    if (std::find(buffers.begin(), buffers.end(), id) == buffers.end()) buffers.push_back(id);
  }

  const Graph& graph_;
  std::vector<bool> is_there_, feeds_kernel_;
  std::vector<Step> steps_;
};

/// Marks the forward's values that the backward needs when only `is_saved` ones are not computed
/// again.
class SavedSearch {
 public:
  explicit SavedSearch(const Graph& graph) : graph_(graph), seen_(graph.size()) {}

  std::vector<ValueId> find() {
    found_.push_back(graph_.hidden);
    seen_[graph_.hidden] = true;
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (graph_[id].backward)
        for (const ValueId read : graph_[id].reads) visit(read);
    std::sort(found_.begin() + 1, found_.end());
    return std::move(found_);
  }

 private:
  void visit(ValueId id) {
    if (graph_[id].backward || seen_[id]) return;
    seen_[id] = true;
    if (is_saved(graph_[id]))
      found_.push_back(id);
    else
      for (const ValueId read : graph_[id].reads) visit(read);
  }

  bool is_saved(const Value& value) const {
    switch (graph_.tags) {
      case Tags::none: return value.kind == Value::Kind::kernel && !value.recomputable;
      case Tags::recompute_all: return false;
      case Tags::selected: return value.checkpoint;
    }
    return false;
  }

  const Graph& graph_;
  std::vector<bool> seen_;
  std::vector<ValueId> found_;
};

}  // namespace

std::vector<ValueId> saved_values(const Graph& graph) { return SavedSearch(graph).find(); }

std::vector<Step> schedule(const Graph& graph, const Half& half) {
  Scheduler scheduler(graph, half.given);
  std::vector<bool> is_output(graph.size());
  for (const ValueId output : half.outputs) is_output[output] = true;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (is_output[id] ||
        (graph[id].backward == half.backward && graph[id].kind == Value::Kind::kernel))
      scheduler.make(id);
  return scheduler.take();
}

}  // namespace memtape::torch::inductor
