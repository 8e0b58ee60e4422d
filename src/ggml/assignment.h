// SPDX-License-Identifier: Apache-2.0
// Assignment: gives every node and leaf of a graph a backend, in the five passes of ggml's
// scheduler. A tensor goes where its data is, then where its neighbours are, and else to the best
// of the other backends.
#pragma once

#include <vector>

#include "ggml/scheduler.h"

namespace memtape::ggml {

class Assignment {
 public:
  Assignment(const Graph& graph, const SchedulerSetup& setup, const Pins& pins);

  void run();
  int of(const Tensor* t) const { return ids_[static_cast<std::size_t>(t->id)]; }
  const std::vector<int>& all() const { return ids_; }
  /// Whether the backend can read the tensor where it lies.
  bool can_read(const Tensor& t, int backend) const;

 private:
  int& id(const Tensor* t) { return ids_[static_cast<std::size_t>(t->id)]; }
  int cpu() const { return static_cast<int>(setup_.backends.size()) - 1; }
  const Backend& backend(int b) const { return *setup_.backends[static_cast<std::size_t>(b)]; }

  int holder_of(const Tensor& t, const Tensor& op) const;
  int from_data(const Tensor& t) const;
  int from_weights(const Tensor& t) const;
  void spread(bool forward, bool skip_cpu);
  void upgrade(const Tensor& node);
  void find_best(const Tensor& node);
  void finish(const Tensor& node);

  const Graph& graph_;
  const SchedulerSetup& setup_;
  std::vector<int> ids_;
};

}  // namespace memtape::ggml
