// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/param_coordinator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ghost/session.h"
#include "release/trainer_changes.h"

namespace memtape::deepspeed {

using Status = ZeroParam::Status;

/// The registry lets go of its handles when all have been waited for.
void ParamCoordinator::clean_inflight() {
  const std::vector<ZeroParam*> params = std::exchange(in_flight_, {});
  for (ZeroParam* param : params) {
    param->inflight->wait();
    release_param(*param);
  }
  for (ZeroParam* param : params) param->inflight.reset();
}

void ParamCoordinator::reset_step() {
  clean_inflight();
  if (trace_ == Trace::record) {
    construct_parameter_trace();
    trace_ = Trace::complete;
  } else if (trace_ == Trace::invalid) {
    trace_ = Trace::record;
  }
  queue_.assign(param_order_.begin(), param_order_.end());
  last_fetched_.clear();
  step_ = 0;
  available_ = 0;
}

void ParamCoordinator::trace_prologue(const TracedModule& module) {
  if (trace_ != Trace::complete) return;
  const auto step = static_cast<std::size_t>(step_);
  if (step < order_.size() && order_[step] == &module) return;
  invalidate_trace();
}

void ParamCoordinator::invalidate_trace() {
  trace_ = Trace::invalid;
  order_.clear();
  param_order_.clear();
  last_fetched_.clear();
  queue_.clear();
  clean_inflight();
}

void ParamCoordinator::construct_parameter_trace() {
  for (std::size_t step = 0; step < order_.size(); ++step) {
    std::vector<ZeroParam*> params = order_[step]->params;
    std::sort(params.begin(), params.end(),
              [](const ZeroParam* a, const ZeroParam* b) { return a->id < b->id; });
    for (ZeroParam* param : params)
      param_order_.push_back({param, static_cast<std::int64_t>(step)});
  }
}

std::int64_t ParamCoordinator::last_fetched_for(const ZeroParam* param) const {
  const auto found = last_fetched_.find(param);
  return found == last_fetched_.end() ? std::numeric_limits<std::int64_t>::min() : found->second;
}

void ParamCoordinator::all_gather_params(const std::vector<ZeroParam*>& params) {
  std::vector<ZeroParam*> partitioned;
  for (ZeroParam* param : params)
    if (param->status == Status::not_available) partitioned.push_back(param);
  if (partitioned.empty()) return;
  const ghost::GradMode no_grad(false);
  const ghost::StreamGuard stream(stream_);
  for (const ZeroParam* param : partitioned) available_ += param->numel;
  const auto primary =
      std::stable_partition(partitioned.begin(), partitioned.end(),
                            [](const ZeroParam* param) { return param->secondary.defined(); });
  gather_alike({partitioned.begin(), primary});
  gather_alike({primary, partitioned.end()});
}

void ParamCoordinator::gather_alike(const std::vector<ZeroParam*>& params) {
  if (params.empty()) return;
  const auto handle = all_gather_coalesced(params, gather_);
  for (ZeroParam* param : params) {
    param->inflight = handle;
    in_flight_.push_back(param);
  }
}

void ParamCoordinator::wait_for(ZeroParam& param) {
  if (!param.inflight) return;
  const ghost::GradMode no_grad(false);
  const ghost::StreamGuard stream(stream_);
  std::erase(in_flight_, &param);
  const auto handle = std::exchange(param.inflight, {});
  handle->wait();
}

void ParamCoordinator::fetch_sub_module(const TracedModule& module, bool forward) {
  trace_prologue(module);
  if (trace_ == Trace::record) order_.push_back(&module);
  if (!forward && ghost::has(changes::kZeroOwnsRecomputes) &&
      std::find(active_backward_.begin(), active_backward_.end(), &module) ==
          active_backward_.end())
    active_backward_.push_back(&module);
  all_gather_params(module.params);
  for (ZeroParam* param : module.params) {
    param->active_modules.insert(module.id);
    if (forward) attribute_recompute(*param);
    wait_for(*param);
  }
  if (trace_ == Trace::complete) {
    discard_from_queue(module);
    if (config_.prefetch_bucket_size > 0) prefetch();
  }
  ++step_;
}

/// update_recompute_parameters
void ParamCoordinator::attribute_recompute(ZeroParam& param) {
  const bool recomputes = ghost::session().final_callbacks != nullptr;
  if (!recomputes || active_backward_.empty() || param.parameter.requires_grad()) return;
  const TracedModule* const owner = active_backward_.back();
  std::vector<ZeroParam*>& params = recompute_[owner];
  if (std::find(params.begin(), params.end(), &param) == params.end()) params.push_back(&param);
  param.active_modules.insert(owner->id);
}

/// What has been fetched need not be fetched ahead.
void ParamCoordinator::discard_from_queue(const TracedModule& module) {
  const auto missing = static_cast<std::size_t>(
      std::count_if(module.params.begin(), module.params.end(),
                    [&](const ZeroParam* p) { return last_fetched_for(p) < step_; }));
  std::set<const ZeroParam*> discarded;
  while (!queue_.empty() && discarded.size() < missing) {
    const ParamInTrace next = queue_.front();
    queue_.pop_front();
    last_fetched_[next.param] = next.last_used;
    discarded.insert(next.param);
  }
}

void ParamCoordinator::prefetch() {
  const std::int64_t most =
      std::min(config_.max_live_parameters - available_, config_.prefetch_bucket_size);
  std::vector<ZeroParam*> params;
  std::int64_t numel = 0;
  while (!queue_.empty() && numel < most) {
    const ParamInTrace next = queue_.front();
    queue_.pop_front();
    last_fetched_[next.param] = std::max(last_fetched_for(next.param), next.last_used);
    if (next.param->status != Status::not_available ||
        std::find(params.begin(), params.end(), next.param) != params.end())
      continue;
    params.push_back(next.param);
    numel += next.param->numel;
  }
  all_gather_params(params);
}

/// __params_to_release: not those that were fetched ahead for a later use, nor those of the modules
/// within the reuse distance.
ParamCoordinator::Params ParamCoordinator::params_to_release(const TracedModule& module) const {
  Params released;
  for (const ZeroParam* param : module.params)
    if (trace_ != Trace::complete || (!param->persists && last_fetched_for(param) <= step_))
      released.insert(param);
  if (trace_ != Trace::complete || released.empty()) return released;
  std::int64_t traversed = 0;
  for (auto at = static_cast<std::size_t>(step_); at < order_.size(); ++at) {
    if (traversed >= config_.max_reuse_distance) break;
    for (const ZeroParam* param : order_[at]->params) {
      released.erase(param);
      traversed += param->numel;
    }
  }
  return released;
}

ParamCoordinator::Params& ParamCoordinator::cached_params_to_release(const TracedModule& module) {
  const auto key = std::pair(&module, step_);
  const auto found = released_.find(key);
  if (found != released_.end()) return found->second;
  return released_.emplace(key, params_to_release(module)).first->second;
}

void ParamCoordinator::release_sub_module(const TracedModule& module, bool forward) {
  const ghost::GradMode no_grad(false);
  Params traced;
  if (trace_ != Trace::complete) traced = params_to_release(module);
  Params& released = trace_ == Trace::complete ? cached_params_to_release(module) : traced;
  std::vector<ZeroParam*> params = module.params;
  if (!forward) {
    for (ZeroParam* param : std::exchange(recompute_[&module], {})) {
      if (!param->persists) released.insert(param);
      params.push_back(param);
    }
    std::erase(active_backward_, &module);
  }
  for (ZeroParam* param : params) {
    param->active_modules.erase(module.id);
    if (released.contains(param)) release_param(*param);
  }
}

void ParamCoordinator::release_param(ZeroParam& param) {
  if (!param.is_available() || !param.active_modules.empty()) return;
  param.release();
  available_ -= param.numel;
}

void ParamCoordinator::release_backward_leftovers() {
  while (!active_backward_.empty()) {
    const TracedModule* module = active_backward_.back();
    active_backward_.pop_back();
    std::vector<ZeroParam*> params = module->params;
    for (ZeroParam* param : std::exchange(recompute_[module], {})) params.push_back(param);
    for (ZeroParam* param : params) {
      param->active_modules.erase(module->id);
      if (!param->persists) release_param(*param);
    }
  }
}

void ParamCoordinator::release_and_reset_all(const std::vector<ZeroParam*>& params) {
  const ghost::GradMode no_grad(false);
  for (ZeroParam* param : params) {
    if (param->inflight) {
      std::erase(in_flight_, param);
      std::exchange(param->inflight, {})->wait();
    }
    param->active_modules.clear();
    release_param(*param);
  }
}

}  // namespace memtape::deepspeed
