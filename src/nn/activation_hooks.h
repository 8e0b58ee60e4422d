// SPDX-License-Identifier: Apache-2.0
// ActivationHooks: in transformers an activation is a module of its own; here it is a function.
// While one lives, its hooks see every activation's input and output as a module's hooks would.
#pragma once

#include "nn/module.h"

namespace memtape::nn {

class ActivationHooks {
 public:
  explicit ActivationHooks(ForwardHooks& hooks);
  ~ActivationHooks();
  ActivationHooks(const ActivationHooks&) = delete;
  ActivationHooks& operator=(const ActivationHooks&) = delete;

 private:
  ForwardHooks* before_;
};

}  // namespace memtape::nn
