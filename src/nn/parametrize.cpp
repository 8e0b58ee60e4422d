// SPDX-License-Identifier: Apache-2.0
#include "nn/parametrize.h"

namespace memtape::nn {

Parametrized::Parametrized(const ModuleNode& node, const Tensor& parameter)
    : parameter_(parameter) {
  auto* patch = dynamic_cast<ParametrizingPatch*>(node.patch.get());
  if (!patch) return;
  parametrization_ = patch->activate(parameter);
  if (!parametrization_) return;
  given_.emplace(this);
  if (!parametrization_->is_registered()) const Tensor checked = parametrization_->forward();
}

Tensor value_of(const Tensor& parameter) {
  Parametrized* const innermost = ghost::given_here<Parametrized>();
  if (!innermost) return parameter;
  Parametrized* outermost = innermost;
  while (outermost->given_->outer()) outermost = outermost->given_->outer();
  for (const Parametrized::Cached& made : outermost->cache_)
    if (made.parameter == &parameter.impl()) return made.value;
  for (Parametrized* at = innermost; at; at = at->given_->outer())
    if (at->parameter_.ptr() == parameter.ptr()) {
      Tensor value = at->parametrization_->forward();
      outermost->cache_.push_back({&parameter.impl(), value});
      return value;
    }
  return parameter;
}

}  // namespace memtape::nn
