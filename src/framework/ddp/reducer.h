// SPDX-License-Identifier: Apache-2.0
// Reducer: what DDP does with gradients (torch/csrc/distributed/c10d/reducer.cpp). Every parameter
// has a place in a bucket, a flat tensor that is all-reduced when its last gradient has arrived.
//
// The first buckets follow the order of the parameters. In the first synchronised backward,
// gradients arrive in another order; the next forward replaces the buckets by ones that follow it,
// and these stay. With gradient_as_bucket_view, a gradient is a view of its bucket once it has been
// copied there. With a static graph, the first backward only counts, and everything is copied and
// reduced at its end.
//
// The Reducer waits for every gradient. So it has to know beforehand which parameters get none, by
// a search of the graph (find_unused_parameters) or from the first backward (static graph).
// Otherwise the next forward finds the reduction unfinished, which is an error.
#pragma once

#include <vector>

#include "framework/ddp/buckets.h"
#include "framework/ddp/options.h"
#include "ghost/autograd/node.h"

namespace memtape::ddp {

class Reducer {
 public:
  Reducer(std::vector<ghost::Tensor> parameters, const Options& options);
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  void prepare_for_forward() { ++iterations_; }
  /// Called before a forward. After the first synchronised backward, it builds the buckets anew,
  /// once.
  void rebuild_buckets();
  /// Expects gradients from here on. If unused parameters are searched for, it expects only those
  /// of what `outputs` depend on.
  void prepare_for_backward(const std::vector<ghost::Tensor>& outputs);
  /// Does what follows the first backward of a static graph.
  void delay_all_reduce();
  /// Notes that a collective of the process group begins.
  void begin_collective() { held_by_group_.clear(); }

 private:
  struct Bucket {
    Places places;
    ghost::Tensor contents;
    std::vector<ghost::Tensor> views;
    std::size_t pending = 0;
    ghost::Tensor compressed;
  };
  struct Locator {
    std::size_t bucket = 0, within = 0;
  };

  void initialize_buckets(std::vector<Places> places);
  void autograd_hook(std::size_t place);
  void mark_unused_parameters();
  void mark_variable_ready(std::size_t place);
  void ensure_prior_reduction_finished() const;
  void raise_if_marked_twice(std::size_t place) const;
  void copy_into_bucket(std::size_t place);
  void all_reduce(Bucket& bucket);
  void finalize_backward();
  bool first_static_iteration() const { return options_.static_graph && iterations_ == 1; }
  bool may_rebuild() const {
    return (options_.static_graph || !options_.find_unused_parameters) && !has_rebuilt_;
  }

  std::vector<ghost::Tensor> parameters_;
  Options options_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
  std::vector<Bucket> buckets_;
  std::vector<Locator> locators_;
  /// What hooks have reduced. Nobody waits for the work of such a collective, but only for its
  /// future, so ProcessGroupNCCL holds its tensors until its next collective begins
  /// (ProcessGroupNCCL.cpp, TensorShelf).
  std::vector<ghost::Tensor> held_by_group_;
  std::size_t next_bucket_ = 0;
  Places arrived_;  ///< the parameters in the order in which their gradients arrived
  Places unused_;   ///< the parameters that get no gradient
  std::vector<bool> got_gradient_;  ///< in the first backward of a static graph
  std::vector<bool> ready_;         ///< in this backward
  ghost::Tensor local_used_map_;
  int iterations_ = 0;
  bool expects_hooks_ = false, has_rebuilt_ = false;
  bool has_marked_unused_ = false;
  bool requires_finalize_ = false;  ///< a gradient has arrived whose reduction must be completed
};

}  // namespace memtape::ddp
