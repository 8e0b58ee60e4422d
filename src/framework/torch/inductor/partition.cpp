// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/partition.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "framework/torch/inductor/max_flow.h"

namespace memtape::torch::inductor {
namespace {

using Kind = Value::Kind;

/// solve_min_cut over values in place of FX nodes: a chain of views is one, and what an op
/// decomposes into is one value. A view is not saved, but what it is of.
class Cut {
 public:
  explicit Cut(const Graph& graph)
      : graph_(graph),
        is_live_(graph.size()),
        users_(graph.size()),
        place_(graph.size()),
        distance_(graph.size(), kFar),
        banned_(graph.size()) {
    for (ValueId id = graph.size(); id-- > 0;) {
      is_live_[id] = is_live_[id] || graph[id].backward || graph[id].held;
      if (!is_live_[id]) continue;
      for (const ValueId read : graph[id].reads) is_live_[read] = true;
    }
    std::size_t place = 0;
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (!is_live_[id]) continue;
      place_[id] = place += graph[id].nodes;
      for (const ValueId read : graph[id].reads) users_[read].push_back(id);
    }
    measure_distances();
    ban();
    ban_used_far_apart();
    ban_long_chains();
  }

  std::vector<ValueId> saved() const {
    const std::size_t source = 2 * graph_.size(), sink = source + 1;
    MaxFlow network(sink + 1);
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (graph_[id].backward || is_dead(id)) continue;
      if (graph_[id].checkpointed > 0) {
        network.connect(2 * id, sink, MaxFlow::kUnlimited);
        continue;
      }
      if (banned_[id]) network.connect(source, 2 * id, MaxFlow::kUnlimited);
      network.connect(2 * id, 2 * id + 1, weight(id));
      bool is_read_backward = false;
      for (const ValueId user : users_[id]) {
        if (graph_[user].backward)
          is_read_backward = true;
        else
          network.connect(2 * id + 1, 2 * user, MaxFlow::kUnlimited);
      }
      if (is_read_backward) network.connect(2 * id + 1, sink, MaxFlow::kUnlimited);
    }
    const std::vector<bool> behind = network.sink_side(source, sink);
    std::vector<ValueId> found;
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (!graph_[id].backward && !behind[2 * id] && behind[2 * id + 1]) found.push_back(id);
    return found;
  }

 private:
  static constexpr int kFar = std::numeric_limits<int>::max();

  Bytes size(ValueId id) const {
    return bytes_of(graph_[id].dtype, ghost::numel(graph_[id].sizes));
  }
  bool is_dead(ValueId id) const { return !is_live_[id] || users_[id].empty(); }

  /// dist_from_bw: how many nodes lie between this and the first that the backward reads.
  void measure_distances() {
    for (ValueId id = graph_.size(); id-- > 0;) {
      if (graph_[id].backward) continue;
      for (const ValueId user : users_[id]) {
        const int next = graph_[user].backward ? 0 : distance_[user];
        if (next != kFar) distance_[id] = std::min(distance_[id], next + length_to(user));
      }
    }
  }

  int length_to(ValueId user) const { return graph_[user].backward ? 1 : graph_[user].length; }

  bool is_fusible(const Value& value) const {
    return value.kind != Kind::input && value.kind != Kind::kernel && !value.unfusible;
  }
  bool fuses(ValueId a, ValueId b) const { return is_fusible(graph_[a]) && is_fusible(graph_[b]); }

  /// should_ban_recomputation. What the forward returns is read by the graph's output, which fuses
  /// with nothing.
  void ban() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Value& value = graph_[id];
      if (!may_be_banned(id)) continue;
      banned_[id] = value.kind == Kind::input || value.kind == Kind::kernel || value.banned ||
                    value.held || is_materialized_backwards(id) || reduces(id);
    }
  }
  /// ban_recomputation_if_allowed: what a checkpoint says stands.
  bool may_be_banned(ValueId id) const {
    return graph_[id].kind != Kind::view && graph_[id].checkpointed == 0;
  }
  bool is_materialized_backwards(ValueId id) const {
    std::vector<ValueId> waiting{id};
    while (!waiting.empty()) {
      const ValueId at = waiting.back();
      waiting.pop_back();
      for (const ValueId user : users_[at]) {
        if (graph_[user].backward && !fuses(at, user)) return true;
        if (graph_[user].kind == Kind::view) waiting.push_back(user);
      }
    }
    return false;
  }
  /// An output a quarter of what is read, or less.
  bool reduces(ValueId id) const {
    Bytes read = 0;
    for (const ValueId operand : graph_[id].reads) read += size(operand);
    return size(id) * 4 < read;
  }

  /// ban_if_used_far_apart: fusible readers that lie behind one that is not.
  void ban_used_far_apart() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (graph_[id].backward) continue;
      std::vector<ValueId> readers;
      for (const ValueId user : users_[id])
        if (!graph_[user].backward) readers.push_back(user);
      if (readers.empty()) continue;
      const ValueId first = first_unfusible(readers);
      for (const ValueId user : readers)
        if (user > first && fuses(id, user) && may_be_banned(user)) banned_[user] = true;
    }
  }
  ValueId first_unfusible(const std::vector<ValueId>& start) const {
    const ValueId last = *std::max_element(start.begin(), start.end());
    struct Place {
      ValueId id;
      bool is_fusible;
      bool operator>(const Place& other) const {
        return id != other.id ? id > other.id : is_fusible && !other.is_fusible;
      }
    };
    std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting;
    std::vector<ValueId> seen;
    for (const ValueId id : start) waiting.push({id, true});
    while (!waiting.empty()) {
      const Place place = waiting.top();
      waiting.pop();
      if (!place.is_fusible) return place.id;
      if (!seen.empty() && seen.back() == place.id) continue;
      seen.push_back(place.id);
      for (const ValueId user : users_[place.id])
        if (!graph_[user].backward && user <= last) waiting.push({user, fuses(place.id, user)});
    }
    return last;
  }

  /// ban_if_long_fusible_chains: what lies more than 100 nodes behind the beginning of a chain, and
  /// is the last that is left of it.
  void ban_long_chains() {
    constexpr std::size_t kLong = 100;
    std::vector<bool> visited(graph_.size());
    for (ValueId start = 0; start < graph_.size(); ++start) {
      if (graph_[start].backward) continue;
      std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> waiting;
      waiting.push(start);
      while (!waiting.empty()) {
        const ValueId id = waiting.top();
        waiting.pop();
        if (visited[id]) continue;
        visited[id] = true;
        if (waiting.empty() && place_[id] > place_[start] + kLong) {
          banned_[id] = may_be_banned(id);
          break;
        }
        for (const ValueId user : users_[id])
          if (!graph_[user].backward && fuses(id, user) && !banned_[user]) waiting.push(user);
      }
    }
  }

  /// get_node_weight: nearer to the backward is cheaper, and what would not be a buffer otherwise
  /// costs twice.
  MaxFlow::Capacity weight(ValueId id) const {
    const Value& value = graph_[id];
    if (value.is_static) return 0;
    if (value.kind == Kind::view) return MaxFlow::kUnlimited;
    const int distance = std::clamp(distance_[id], 1, 100);
    const double biased = static_cast<double>(size(id)) * std::pow(1.1, distance);
    const auto whole = static_cast<MaxFlow::Capacity>(biased);
    return is_materialized(id) ? whole : 2 * whole;
  }
  bool is_materialized(ValueId id) const {
    return graph_[id].kind == Kind::input ||
           !std::all_of(users_[id].begin(), users_[id].end(),
                        [&](ValueId user) { return fuses(id, user); });
  }

  const Graph& graph_;
  std::vector<bool> is_live_;  ///< outputs come from it
  std::vector<std::vector<ValueId>> users_;
  std::vector<std::size_t> place_;  ///< among FX nodes
  std::vector<int> distance_;
  std::vector<bool> banned_;
};

}  // namespace

std::vector<ValueId> min_cut(const Graph& graph) { return Cut(graph).saved(); }

}  // namespace memtape::torch::inductor
