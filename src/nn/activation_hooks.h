// SPDX-License-Identifier: Apache-2.0
// ActivationHooks: in transformers an activation is a module of its own; here it is a function.
// While one lives, its hooks see every activation's input and output as a module's hooks would.
#pragma once

#include "ghost/given.h"
#include "nn/module.h"

namespace memtape::nn {

class ActivationHooks {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::activation_hooks;
  explicit ActivationHooks(ForwardHooks& forward_hooks) : hooks(forward_hooks) {}

  ForwardHooks& hooks;

 private:
  ghost::Given<ActivationHooks> given_{this};
};

}  // namespace memtape::nn
