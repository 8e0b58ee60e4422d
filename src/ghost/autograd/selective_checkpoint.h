// SPDX-License-Identifier: Apache-2.0
// Selective checkpointing (torch/utils/checkpoint.py, create_selective_checkpoint_contexts): a
// checkpointed part whose forward keeps the outputs of some ops, by a policy that sees each op in
// turn. When the part runs again those ops are not run; they give what was kept, which goes with
// its last user.
//
// Ops that a policy may name ask recalled() before they work and offer() what they made.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ghost/autograd/checkpoint.h"
#include "ghost/given.h"

namespace memtape::ghost {

/// Whether the outputs of this op are kept. A new one is made for each run of the part: it may
/// count.
using KeepPolicy = std::function<bool(std::string_view op)>;
using MakeKeepPolicy = std::function<KeepPolicy()>;

/// Whether a part that runs again ends with the last tensor that is wanted, or runs to its end
/// (torch.utils.checkpoint's early_stop).
enum class Recompute { stops_early, runs_to_end };

class KeptOutputs {
 public:
  static constexpr Slot kSlot = Slot::kept_outputs;

  KeptOutputs(MakeKeepPolicy make_policy, Recompute recompute)
      : make_policy_(std::move(make_policy)), recompute_(recompute) {}

  bool stops_early() const { return recompute_ == Recompute::stops_early; }

  void begin(bool again) {
    policy_ = make_policy_();
    recalls_ = again;
  }
  bool recall(std::string_view op, std::initializer_list<Tensor*> outputs);
  void offer(std::string_view op, std::initializer_list<const Tensor*> outputs);

 private:
  MakeKeepPolicy make_policy_;
  Recompute recompute_;
  KeepPolicy policy_;
  bool recalls_ = false;
  std::map<std::string, std::deque<std::vector<Tensor>>, std::less<>> kept_;
};

/// Gives `outputs` what was kept of the op; false: the op has to run.
inline bool recalled(std::string_view op, std::initializer_list<Tensor*> outputs) {
  KeptOutputs* const kept = given_here<KeptOutputs>();
  return kept && kept->recall(op, outputs);
}
inline void offer(std::string_view op, std::initializer_list<const Tensor*> outputs) {
  if (KeptOutputs* const kept = given_here<KeptOutputs>()) kept->offer(op, outputs);
}

/// checkpoint(function, input, context_fn=...) with use_reentrant=False.
Tensor checkpoint_selectively(const std::function<Tensor(const Tensor&)>& function,
                              const Tensor& input, const MakeKeepPolicy& make_policy,
                              Recompute recompute);

}  // namespace memtape::ghost
