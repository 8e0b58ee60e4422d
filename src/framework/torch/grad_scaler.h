// SPDX-License-Identifier: Apache-2.0
// torch.amp.GradScaler("cuda") (torch/amp/grad_scaler.py). It scales the loss so that float16
// gradients do not vanish. Its scale and its growth tracker are made at the first scale(). Each
// step makes an inverse scale and flags for found infinities. FSDP 1's ShardedGradScaler
// (torch/distributed/fsdp/sharded_grad_scaler.py) does the same, but takes gradients of 16 bits,
// and makes its flag where no gradient lies on this rank, too, since all ranks sum theirs.
#pragma once

#include <cstdint>

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class GradScaler {
 public:
  enum class Kind : std::uint8_t { plain, sharded };
  explicit GradScaler(Kind kind = Kind::plain) : kind_(kind) {}
  /// scaler.scale(loss)
  Tensor scale(const Tensor& loss);
  /// scaler.unscale_(optimizer), which works in place. It leaves this device's flag for step() and
  /// update().
  void unscale(const Optimizer& optimizer);
  /// scaler.step(optimizer). No infinity is ever found.
  void step(Optimizer& optimizer);
  /// scaler.update()
  void update() { found_inf_.reset(); }

 private:
  Kind kind_;
  Tensor scale_, growth_tracker_;
  Tensor found_inf_;  ///< optimizer_state["found_inf_per_device"] of the one device
};

}  // namespace memtape::torch
