// SPDX-License-Identifier: Apache-2.0
// torch.amp.GradScaler("cuda") (torch/amp/grad_scaler.py): scales the loss so that float16
// gradients do not vanish. Its scale and growth tracker are made at the first scale(); each step
// makes an inverse scale and flags for found infinities.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class GradScaler {
 public:
  /// scaler.scale(loss)
  Tensor scale(const Tensor& loss);
  /// scaler.unscale_(optimizer): in place; leaves the flag of this device for step() and update().
  void unscale(const Optimizer& optimizer);
  /// scaler.step(optimizer); no infinity is ever found.
  void step(Optimizer& optimizer);
  /// scaler.update()
  void update() { found_inf_.reset(); }

 private:
  Tensor scale_, growth_tracker_;
  Tensor found_inf_;  ///< optimizer_state["found_inf_per_device"], one device
};

}  // namespace memtape::torch
