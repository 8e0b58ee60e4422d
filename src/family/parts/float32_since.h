// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ghost/session.h"
#include "nn/module.h"

namespace memtape::family {

/// The dtype of parameters that a change holds in float32; before it they had the model's.
inline DType float32_since(const Change& change, const nn::Scope& scope) {
  return ghost::has(change) ? DType::float32 : scope.dtype();
}

}  // namespace memtape::family
