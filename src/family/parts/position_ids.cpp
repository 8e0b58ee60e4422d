// SPDX-License-Identifier: Apache-2.0
#include "family/parts/position_ids.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"

namespace memtape::family {

PositionIds::PositionIds(const nn::Scope& scope, std::int64_t positions)
    : scope_(scope.node().scope) {
  const ghost::ScopeGuard guard(scope_);
  ids_ = ghost::arange(positions, DType::int64).unsqueeze(0);
  scope.buffer("position_ids", ids_);
}

void PositionIds::init_weights() const {
  const ghost::ScopeGuard guard(scope_);
  const Tensor again = ghost::arange(count(), DType::int64);
}

}  // namespace memtape::family
