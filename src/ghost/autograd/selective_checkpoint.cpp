// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/selective_checkpoint.h"

#include <utility>

namespace memtape::ghost {

/// _CachedTorchDispatchMode: storage[func].pop(0).
bool KeptOutputs::recall(std::string_view op, std::initializer_list<Tensor*> outputs) {
  if (!recalls_ || session().skipping || !policy_(op)) return false;
  const auto found = kept_.find(op);
  if (found == kept_.end() || found->second.empty()) return false;
  std::vector<Tensor> kept = std::move(found->second.front());
  found->second.pop_front();
  auto at = kept.begin();
  for (Tensor* output : outputs) *output = std::move(*at++);
  return true;
}

/// _CachingTorchDispatchMode: outputs are kept without their history.
void KeptOutputs::offer(std::string_view op, std::initializer_list<const Tensor*> outputs) {
  if (recalls_ || session().skipping || !policy_(op)) return;
  const GradMode no_grad(false);
  std::vector<Tensor> kept;
  for (const Tensor* output : outputs) {
    if (output->defined()) note_kept(*output);
    kept.push_back(output->defined() ? output->detach() : Tensor());
  }
  kept_[std::string(op)].push_back(std::move(kept));
}

Tensor checkpoint_selectively(const std::function<Tensor(const Tensor&)>& function,
                              const Tensor& input, const MakeKeepPolicy& make_policy,
                              Recompute recompute) {
  if (!session().grad_enabled) return function(input);
  const auto kept = std::make_shared<KeptOutputs>(make_policy, recompute);
  const Ptr<CheckpointFrame> frame(
      new CheckpointFrame(input, [function, kept](const Tensor& again) {
        const Given<KeptOutputs> recalling(kept.get());
        kept->begin(true);
        function(again);
      }));
  const SavedTensorHooksGuard hooks(frame.get());
  const Given<KeptOutputs> offering(kept.get());
  kept->begin(false);
  return function(input);
}

}  // namespace memtape::ghost
