// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/grad_scaler.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"

namespace memtape::torch {
namespace {

/// "Attempting to unscale FP16 gradients"; the kernel that looks for infinities has no bfloat16
/// form.
void check_gradients(const Optimizer& optimizer) {
  for (const Tensor& parameter : optimizer.parameters())
    if (parameter.impl().grad && bits(parameter.dtype()) == 16)
      ghost::session().fail({ErrorKind::bad_input, "torch cannot unscale gradients of 16 bits",
                             "--precision amp-fp16", "weights in fp32"});
}

}  // namespace

Tensor GradScaler::scale(const Tensor& loss) {
  if (!scale_.defined()) {
    scale_ = ghost::full({}, DType::float32, Category::buffer);
    growth_tracker_ = ghost::full({}, DType::int32, Category::buffer);
  }
  return loss.mul(scale_);
}

void GradScaler::unscale(const Optimizer& optimizer) {
  const ghost::GradMode no_grad(false);
  const Tensor inv_scale = ghost::reciprocal(scale_.to(DType::float64)).to(DType::float32);
  const Tensor found_inf = ghost::full({}, DType::float32);
  if (kind_ == Kind::plain) {
    if (!optimizer.has_gradients()) return;
    check_gradients(optimizer);
  }
  // _MultiDeviceReplicator copies its tensor to a device even if it lies there.
  found_inf_ = found_inf.clone();
  if (!optimizer.has_gradients()) return;
  const Tensor device_inv_scale = inv_scale.clone();
}

void GradScaler::step(Optimizer& optimizer) {
  if (!optimizer.step_supports_amp_scaling()) return optimizer.step();
  const Tensor found_inf = found_inf_.add(0);  // sum() starts from 0
  optimizer.step();
}

}  // namespace memtape::torch
