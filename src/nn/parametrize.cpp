// SPDX-License-Identifier: Apache-2.0
#include "nn/parametrize.h"

#include <utility>
#include <vector>

namespace memtape::nn {
namespace {

struct Cached {
  const ghost::TensorImpl* parameter;
  Tensor value;
};

thread_local Parametrized* innermost = nullptr;
thread_local std::vector<Cached> cache;

}  // namespace

Parametrized::Parametrized(const ModuleNode& node, const Tensor& parameter)
    : parameter_(parameter) {
  auto* patch = dynamic_cast<ParametrizingPatch*>(node.patch.get());
  if (!patch) return;
  parametrization_ = patch->activate(parameter);
  if (!parametrization_) return;
  outer_ = std::exchange(innermost, this);
  const Tensor checked = parametrization_->forward();
}

Parametrized::~Parametrized() {
  if (!parametrization_) return;
  innermost = outer_;
  if (!innermost) cache.clear();
}

Tensor value_of(const Tensor& parameter) {
  for (const Cached& made : cache)
    if (made.parameter == &parameter.impl()) return made.value;
  for (Parametrized* at = innermost; at; at = at->outer_)
    if (at->parameter_.ptr() == parameter.ptr()) {
      cache.push_back({&parameter.impl(), at->parametrization_->forward()});
      return cache.back().value;
    }
  return parameter;
}

}  // namespace memtape::nn
