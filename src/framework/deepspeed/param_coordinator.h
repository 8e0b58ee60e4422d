// SPDX-License-Identifier: Apache-2.0
// ParamCoordinator (deepspeed/runtime/zero/partitioned_param_coordinator.py): it gathers the
// parameters of a module before the module runs and those of later modules ahead of time, and lets
// go of them afterwards.
//
// It watches the first forward and backward. From then on it knows the order of modules and
// parameters: it fetches parameters ahead, up to a bucket of them, and keeps those that will soon
// be used again. What is released after a step of that order is computed once. A module out of that
// order ends it; then parameters are fetched as they are needed until another forward begins.
//
// If a checkpoint's recomputation gathers a frozen parameter, that parameter has no backward of its
// own that would release it. The module whose backward asked for the recomputation releases it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/zero_param.h"
#include "tape/tape.h"

namespace memtape::deepspeed {

/// A module of the tree as the coordinator knows it.
struct TracedModule {
  std::size_t id = 0;              ///< ds_id
  std::vector<ZeroParam*> params;  ///< its own parameters, without those of its children
};

class ParamCoordinator {
 public:
  ParamCoordinator(const ZeroConfig& config, const GatherOptions& gather)
      : config_(config), gather_(gather) {}

  void gather_on(StreamId stream) { stream_ = stream; }

  /// Called when a forward of the whole model begins.
  void reset_step();
  void fetch_sub_module(const TracedModule& module, bool forward);
  void release_sub_module(const TracedModule& module, bool forward);
  /// Releases the parameters of modules whose backward ended without being noticed.
  void release_backward_leftovers();
  void release_and_reset_all(const std::vector<ZeroParam*>& params);

  /// _invalidate_trace: from here on, parameters are fetched as they are needed until another
  /// forward begins.
  void invalidate_trace();
  /// Whether modules run without their hooks.
  bool is_unhooked = false;

 private:
  enum class Trace { invalid, record, complete };
  struct ParamInTrace {
    ZeroParam* param;
    std::int64_t last_used;  ///< step_id_last_used_at
  };

  void clean_inflight();
  void trace_prologue(const TracedModule& module);
  void construct_parameter_trace();
  void all_gather_params(const std::vector<ZeroParam*>& params);
  /// Gathers parameters that either all have secondary partitions or all have none.
  void gather_alike(const std::vector<ZeroParam*>& params);
  void wait_for(ZeroParam& param);
  void discard_from_queue(const TracedModule& module);
  void prefetch();
  void release_param(ZeroParam& param);
  using Params = std::set<const ZeroParam*>;
  Params params_to_release(const TracedModule& module) const;
  Params& cached_params_to_release(const TracedModule& module);
  void attribute_recompute(ZeroParam& param);
  std::int64_t last_fetched_for(const ZeroParam* param) const;

  ZeroConfig config_;
  GatherOptions gather_;
  StreamId stream_ = 0;
  Trace trace_ = Trace::invalid;
  std::int64_t step_ = 0, available_ = 0;
  std::vector<const TracedModule*> order_;  ///< __submodule_order
  std::vector<ParamInTrace> param_order_;
  std::deque<ParamInTrace> queue_;
  std::map<const ZeroParam*, std::int64_t> last_fetched_;
  std::vector<ZeroParam*> in_flight_;  ///< in the order in which they are gathered
  std::vector<const TracedModule*> active_backward_;
  std::map<const TracedModule*, std::vector<ZeroParam*>> recompute_;  ///< ds_recompute_parameters
  /// What lru_cache keeps.
  std::map<std::pair<const TracedModule*, std::int64_t>, Params> released_;
};

}  // namespace memtape::deepspeed
