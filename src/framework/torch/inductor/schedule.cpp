// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/schedule.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace memtape::torch::inductor {
namespace {

/// What a half has to compute: all that its outputs come from, up to what is given.
class Needs {
 public:
  Needs(const Graph& graph, const Half& half)
      : graph_(graph), is_there_(graph.size()), needed_(graph.size()), feeds_(graph.size()) {
    for (const ValueId id : half.given) is_there_[id] = true;
    for (const ValueId id : half.outputs) visit(id);
    for (ValueId id = graph.size(); id-- > 0;) {
      if (!needed_[id]) continue;
      const Value::Kind kind = graph[id].kind;
      if (kind == Value::Kind::kernel || (kind == Value::Kind::view && feeds_[id]))
        for (const ValueId read : graph[id].reads) feeds_[read] = true;
    }
    realize();
  }

  bool is_there(ValueId id) const { return is_there_[id]; }
  bool operator[](ValueId id) const { return needed_[id]; }
  /// A fused value that becomes a buffer all the same.
  bool feeds_kernel(ValueId id) const { return feeds_[id]; }

 private:
  /// Of values that are none, the buffers that are read for them.
  using ReadBy = std::unordered_map<ValueId, std::vector<ValueId>>;

  void visit(ValueId output) {
    std::vector<ValueId> waiting{output};
    while (!waiting.empty()) {
      const ValueId id = waiting.back();
      waiting.pop_back();
      if (needed_[id] || is_there_[id]) continue;
      needed_[id] = true;
      for (const ValueId read : graph_[id].reads) waiting.push_back(read);
    }
  }

  /// What reads too many buffers is written to one of its own: more than 8, or more than 4 where it
  /// is used twice (realize_acc_reads_threshold and realize_reads_threshold of
  /// torch/_inductor/config.py).
  void realize() {
    constexpr std::size_t kMost = 8, kMostOfReused = 4;
    const std::vector<int> users = count_users();
    ReadBy read_by;
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (!needed_[id] || is_buffer(id)) continue;
      std::vector<ValueId> reads = buffers_read(id, read_by);
      const std::size_t most = users[id] > 1 ? kMostOfReused : kMost;
      if (graph_[id].kind == Value::Kind::fused && reads.size() > most) feeds_[id] = true;
      read_by.emplace(id, std::move(reads));
    }
  }
  std::vector<int> count_users() const {
    std::vector<int> users(graph_.size());
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (needed_[id])
        for (const ValueId read : graph_[id].reads) ++users[read];
    return users;
  }
  /// The buffers that a value reads, by way of what is fused into it.
  std::vector<ValueId> buffers_read(ValueId id, const ReadBy& read_by) const {
    std::vector<ValueId> reads;
    for (const ValueId operand : graph_[id].reads) {
      const auto fused = read_by.find(operand);
      if (is_buffer(operand))
        reads.push_back(operand);
      else if (fused != read_by.end())
        reads.insert(reads.end(), fused->second.begin(), fused->second.end());
    }
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return reads;
  }
  bool is_buffer(ValueId id) const {
    const Value::Kind kind = graph_[id].kind;
    return is_there_[id] || kind == Value::Kind::kernel || kind == Value::Kind::reduction ||
           kind == Value::Kind::input || (feeds_[id] && kind == Value::Kind::fused);
  }

  const Graph& graph_;
  std::vector<bool> is_there_, needed_, feeds_;
};

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Needs& needs)
      : graph_(graph), needs_(needs), is_made_(graph.size()), seen_for_(graph.size()) {}

  /// Makes a buffer of the value, and first of all that it reads.
  void make(ValueId id) {
    if (is_made_[id] || needs_.is_there(id) || graph_[id].kind == Value::Kind::input) return;
    std::vector<ValueId> reads;
    for (const ValueId read : graph_[id].reads) resolve(read, id + 1, reads);
    is_made_[id] = true;
    steps_.push_back({id, std::move(reads)});
  }

  /// The next reduction of the backward as large as this one that reads one of the same tensors:
  /// they become one kernel (score_fusion_memory of torch/_inductor/scheduler.py), so that what the
  /// later one reads is made first.
  std::optional<ValueId> fused_with(ValueId id) const {
    constexpr std::size_t kLongDistance = 64;  // are_long_distant_nodes
    const std::int64_t count = ghost::numel(graph_[id].sizes);
    const std::vector<ValueId> own = tensors_of(id);
    std::size_t steps = 0;
    for (ValueId next = id + 1; next < graph_.size() && steps < kLongDistance; ++next) {
      const Value& value = graph_[next];
      if (!needs_[next] || value.kind == Value::Kind::fused || value.kind == Value::Kind::view)
        continue;
      ++steps;
      if (value.kind != Value::Kind::reduction || is_made_[next] ||
          ghost::numel(value.sizes) != count)
        continue;
      const std::vector<ValueId> others = tensors_of(next);
      if (std::any_of(others.begin(), others.end(), [&](ValueId one) {
            return std::find(own.begin(), own.end(), one) != own.end();
          }))
        return next;
    }
    return std::nullopt;
  }

  std::vector<Step> take() { return std::move(steps_); }

 private:
  /// Tensors of many numbers that a reduction reads once what is fused into it is taken apart.
  std::vector<ValueId> tensors_of(ValueId id) const {
    std::vector<ValueId> waiting = graph_[id].reads, found;
    std::vector<bool> seen(graph_.size());
    while (!waiting.empty()) {
      const ValueId at = waiting.back();
      waiting.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const Value& value = graph_[at];
      const bool is_buffer = needs_.is_there(at) || value.kind == Value::Kind::kernel ||
                             needs_.feeds_kernel(at) || value.kind == Value::Kind::input;
      if (!is_buffer)
        waiting.insert(waiting.end(), value.reads.begin(), value.reads.end());
      else if (ghost::numel(value.sizes) > ghost::numel(graph_[id].sizes) && !value.is_static)
        found.push_back(at);
    }
    return found;
  }

  /// The buffers behind an operand of the value before `reader`.
  void resolve(ValueId id, ValueId reader, std::vector<ValueId>& buffers) {
    if (std::exchange(seen_for_[id], reader) == reader) return;
    const Value& value = graph_[id];
    const bool is_buffer = is_made_[id] || needs_.is_there(id);
    const bool is_taken_apart = value.kind == Value::Kind::view ||
                                (value.kind == Value::Kind::fused && !needs_.feeds_kernel(id));
    if (!is_buffer && is_taken_apart) {
      for (const ValueId read : value.reads) resolve(read, reader, buffers);
      return;
    }
    make(id);
    if (std::find(buffers.begin(), buffers.end(), id) == buffers.end()) buffers.push_back(id);
  }

  const Graph& graph_;
  const Needs& needs_;
  std::vector<bool> is_made_;
  std::vector<ValueId> seen_for_;
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

void make_with_partner(const Graph& graph, Scheduler& scheduler, ValueId id) {
  if (graph[id].backward && graph[id].kind == Value::Kind::reduction)
    if (const auto partner = scheduler.fused_with(id)) scheduler.make(*partner);
  scheduler.make(id);
}

}  // namespace

std::vector<ValueId> saved_values(const Graph& graph) { return SavedSearch(graph).find(); }

std::vector<Step> schedule(const Graph& graph, const Half& half) {
  const Needs needs(graph, half);
  Scheduler scheduler(graph, needs);
  std::vector<bool> is_output(graph.size());
  for (const ValueId output : half.outputs) is_output[output] = true;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (needs[id] && (is_output[id] || (graph[id].backward == half.backward &&
                                        (graph[id].kind == Value::Kind::kernel ||
                                         graph[id].kind == Value::Kind::reduction))))
      make_with_partner(graph, scheduler, id);
  return scheduler.take();
}

}  // namespace memtape::torch::inductor
