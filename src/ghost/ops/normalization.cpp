// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/normalization.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

/// acc_type: statistics of half types are float32.
DType accumulation_type(DType dtype) { return bits(dtype) == 16 ? DType::float32 : dtype; }

std::int64_t rows_of(const Tensor& input) { return ghost::numel(input.sizes().leading()); }

/// LaunchGammaBetaBackwardCUDAKernel: how many partial rows of parameter gradients it sums up
/// afterwards, 0 for none.
std::int64_t partial_rows(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kBlockX = 32, kRowsPerBlock = 32, kManyRows = 64 * 1024,
                         kMostBlocks = 64 * 1024 / 2;
  const bool splits = rows > kManyRows && width / kBlockX < session().device.sm_count / 2;
  return splits ? std::min(kMostBlocks / ceil_div(width, kBlockX), ceil_div(rows, kRowsPerBlock))
                : 0;
}

/// The gradients of the parameters: made before the kernel, replaced by the sums of the partial
/// rows where there are any.
void reduce_partial_rows(std::initializer_list<Tensor*> gradients, std::int64_t rows,
                         std::int64_t width) {
  const std::int64_t blocks = partial_rows(rows, width);
  if (blocks == 0) return;
  std::array<Tensor, 2> partial;
  std::size_t i = 0;
  for (Tensor* gradient : gradients) {
    if (gradient->defined()) partial[i] = empty({blocks, width}, gradient->dtype());
    ++i;
  }
  i = 0;
  for (Tensor* gradient : gradients) {
    if (gradient->defined()) *gradient = partial[i].sum(0);
    ++i;
  }
}

struct NativeLayerNormBackward0 final : Node {
  NativeLayerNormBackward0() : Node("NativeLayerNormBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), scale = weight.defined() ? weight.unpack() : Tensor();
    const Tensor shift = bias.defined() ? bias.unpack() : Tensor();
    Op op("native_layer_norm_backward", {});
    const Tensor packed = x.contiguous();
    if (wants(0)) out[0] = empty(packed.sizes(), packed.dtype());
    if (wants(1)) out[1] = empty_like(scale, scale.dtype());
    if (wants(2)) out[2] = empty_like(shift, shift.dtype());
    const Tensor grad = in[0].contiguous();
    reduce_partial_rows({&out[1], &out[2]}, rows_of(packed), packed.size(-1));
  }
  void release() override {
    for (Saved* saved : {&bias, &input, &weight, &mean, &rstd}) saved->reset();
  }
  Saved input, weight, bias, mean, rstd;
};

Tensor native_layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const In operand(input), scale(weight), shift(bias);
  Op op("native_layer_norm", {&operand, &scale, &shift});
  Ptr<NativeLayerNormBackward0> node;
  if (op.differentiable()) {
    node = op.node<NativeLayerNormBackward0>({&input, &weight, &bias});
    node->input.keep(input);
    if (weight.defined()) node->weight.keep(weight);
    if (bias.defined()) node->bias.keep(bias);
  }
  const Tensor packed = input.contiguous();
  const DType statistics = accumulation_type(packed.dtype());
  Tensor out = empty(packed.sizes(), packed.dtype());
  const Tensor mean = empty({rows_of(packed)}, statistics);
  const Tensor rstd = empty({rows_of(packed)}, statistics);
  if (node) {
    set_history(out, node);
    node->mean.keep_result(mean);
    node->rstd.keep_result(rstd);
  }
  return out;
}

struct FusedRmsNormBackward0 final : Node {
  FusedRmsNormBackward0() : Node("FusedRmsNormBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), scale = weight.defined() ? weight.unpack() : Tensor();
    const In gradient(in[0]);
    Op op("_fused_rms_norm_backward", {&gradient});
    const Tensor packed = x.contiguous();
    if (wants(0)) out[0] = empty(packed.sizes(), packed.dtype());
    if (wants(1)) out[1] = empty_like(scale, scale.dtype());
    const Tensor grad = in[0].contiguous();
    reduce_partial_rows({&out[1]}, rows_of(packed), packed.size(-1));
  }
  void release() override {
    for (Saved* saved : {&input, &weight, &rstd}) saved->reset();
  }
  Saved input, weight, rstd;
};

Tensor fused_rms_norm(const In& input, const Tensor& weight) {
  const In scale(weight);
  Op op("_fused_rms_norm", {&input, &scale});
  Ptr<FusedRmsNormBackward0> node;
  if (op.differentiable()) {
    node = op.node<FusedRmsNormBackward0>({&*input, &weight});
    node->input.keep(*input);
    if (weight.defined()) node->weight.keep(weight);
  }
  const Tensor packed = input->contiguous();
  Tensor out = empty(packed.sizes(), packed.dtype());
  const Tensor rstd = empty({rows_of(packed)}, accumulation_type(packed.dtype()));
  if (node) {
    set_history(out, node);
    node->rstd.keep_result(rstd);
  }
  return out;
}

/// rms_norm_composite: float32 throughout, cast back at the end. add_ works in place.
Tensor composite_rms_norm(const Tensor& input, const Tensor& weight) {
  const Tensor upcasted = input.to_float();
  Tensor normalized;
  {
    const Tensor squares = upcasted.pow(2);
    const Tensor mean = squares.mean(-1, true);
    const Tensor reciprocal_root = rsqrt(mean);
    normalized = upcasted.mul(reciprocal_root);
  }
  if (weight.defined()) normalized = normalized.mul(weight);
  return normalized.to(input.dtype());
}

}  // namespace

Tensor layer_norm(const In& input, const Tensor& weight, const Tensor& bias) {
  constexpr CastPolicy kFloat = CastPolicy::fp32;
  Tensor out;
  {  // the arguments of a C++ call, which GCC takes from the last to the first
    const Autocasted shift(bias, kFloat), scale(weight, kFloat), x(*input, kFloat);
    out = native_layer_norm(*x, *scale, *shift);
  }
  input.release();
  return out;
}

Tensor rms_norm(const In& input, const Tensor& weight) {
  const bool alike = !weight.defined() || weight.dtype() == input->dtype();
  if (alike && has(changes::kRmsNormIsFused)) return fused_rms_norm(input, weight);
  Tensor out = composite_rms_norm(*input, weight);
  input.release();
  return out;
}

}  // namespace memtape::ghost
