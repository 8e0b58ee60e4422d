// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/activations.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// swiglu_back of fusions/fused_bias_swiglu.py, operation by operation:
/// cat((g * sigmoid(y1) * (1 + y1 * (1 - sigmoid(y1))) * y2, g * silu(y1)), -1).
Tensor swiglu_back(const Tensor& g, const Tensor& y) {
  const std::vector<Tensor> parts = y.chunk(2, -1);
  Tensor first = g.mul(ghost::sigmoid(parts[0]));
  Tensor slope = ghost::rsub(1.0, ghost::sigmoid(parts[0]));
  slope = parts[0].mul(slope);
  slope = slope.add(1.0);
  first = first.mul(slope);
  slope.reset();
  first = first.mul(parts[1]);
  const Tensor second = g.mul(ghost::silu(parts[0]));
  return ghost::cat({first, second}, -1);
}

Tensor swiglu(const Tensor& x) {
  return apply({.name = "SwiGLUFunctionBackward",
                .inputs = {x},
                .forward =
                    [&](ToSave& save) {
                      save = {x};
                      const std::vector<Tensor> parts = x.chunk(2, -1);
                      return ghost::silu(parts[0]).mul(parts[1]);
                    },
                .backward = [](std::span<const Tensor> saved, const Tensor& grad,
                               Gradients& in) { in[0] = swiglu_back(grad, saved[0]); }});
}

/// SwiGLUFunction as @jit_fuser makes it, which is torch.compile (megatron/core/jit.py): one kernel
/// each way, and backward's writes both halves where they belong.
Tensor compiled_swiglu(const Tensor& x) {
  return apply(
      {.name = "SwiGLUFunctionBackward",
       .inputs = {x},
       .forward =
           [&](ToSave& save) {
             save = {x};
             return empty({x.size(0), x.size(1) / 2}, x.dtype());
           },
       .backward = [](std::span<const Tensor> saved, const Tensor&,
                      Gradients& in) { in[0] = empty(saved[0].sizes(), saved[0].dtype()); }});
}

/// weighted_swiglu_back of the same: `g` times the weights goes back through swiglu, and `g` times
/// what swiglu makes once more is the weights' gradient.
void weighted_swiglu_back(const Tensor& g, const Tensor& y, const Tensor& weights, Gradients& in) {
  const std::vector<Tensor> parts = y.chunk(2, -1);
  Tensor input_grad = swiglu_back(g.mul(weights), y);
  Tensor weights_grad = ghost::silu(parts[0]).mul(parts[1]);
  weights_grad = weights_grad.mul(g.to(weights.dtype()));
  weights_grad = weights_grad.sum(-1, true);
  in[0] = std::move(input_grad).to(y.dtype());
  in[1] = std::move(weights_grad);
}

/// WeightedSwiGLUFunction and WeightedSquaredReLUFunction as torch.compile makes them: one kernel
/// each way.
Tensor compiled_weighted(const Tensor& x, const Tensor& weights, std::int64_t width) {
  return apply({.name = "WeightedActivationBackward",
                .inputs = {x, weights},
                .forward =
                    [&](ToSave& save) {
                      save = {x, weights};
                      return empty({x.size(0), width}, x.dtype());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor&, Gradients& in) {
                      in[0] = empty(saved[0].sizes(), saved[0].dtype());
                      in[1] = empty(saved[1].sizes(), saved[1].dtype());
                    }});
}

/// weighted_bias_quick_geglu_impl of core/fusions/fused_bias_geglu.py: both halves clamped by torch,
/// whose backward reads them unclamped, and put together before the fused function.
Tensor weighted_quick_geglu(const Tensor& x, const Tensor& weights) {
  const std::vector<Tensor> halves = x.chunk(2, -1);
  constexpr double kLimit = 7.0;
  Tensor gate = ghost::clamp(halves[0], {.max = kLimit});
  Tensor linear = ghost::clamp(halves[1], {.min = -kLimit, .max = kLimit});
  const Tensor joined = ghost::cat({gate, linear}, -1);
  gate.reset();
  linear.reset();
  return compiled_weighted(joined, weights, x.size(1) / 2);
}

/// WeightedSwiGLUFunction, operation by operation.
Tensor weighted_swiglu(const Tensor& x, const Tensor& weights) {
  return apply(
      {.name = "WeightedSwiGLUFunctionBackward",
       .inputs = {x, weights},
       .forward =
           [&](ToSave& save) {
             save = {x, weights};
             const std::vector<Tensor> parts = x.chunk(2, -1);
             const Tensor res = ghost::silu(parts[0]).mul(parts[1]).mul(weights);
             return res.to(x.dtype());
           },
       .backward = [](std::span<const Tensor> saved, const Tensor& grad,
                      Gradients& in) { weighted_swiglu_back(grad, saved[0], saved[1], in); },
       .python_holds = false});
}

/// (torch.cos(freqs) * mscale).to(t.dtype) of models/common/embeddings/rope_utils.py.
Tensor times_mscale(Tensor values, DType dtype) {
  values = values.mul(ghost::kScale);
  return values.to(dtype);
}

/// _rotate_half of the same.
Tensor rotated_half(const Tensor& t) {
  const std::vector<Tensor> halves = t.chunk(2, -1);
  const Tensor turned = halves[1].neg();
  return ghost::cat({turned, halves[0]}, -1);
}

/// One kernel each way: keeps its inputs.
Tensor fused_gelu(const Tensor& x, const Tensor& bias) {
  return apply({.name = "GeLUFunctionBackward",
                .inputs = {x, bias},
                .forward =
                    [&](ToSave& save) {
                      save = {x, bias};
                      return empty(x.sizes(), x.dtype());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = empty(grad.sizes(), grad.dtype());
                      if (saved[1].defined()) in[1] = in[0];  // the engine sums it up
                    }});
}

}  // namespace

std::int64_t gate_factor(const Arguments& a) {
  return a.activation == Activation::swiglu || a.activation == Activation::quick_geglu ? 2 : 1;
}

Tensor activation(const Arguments& a, const Tensor& x, const Tensor& bias) {
  if (a.activation == Activation::gelu && a.bias_activation_fusion) return fused_gelu(x, bias);
  const Tensor sum = bias.defined() ? x.add(bias) : x;
  if (a.activation == Activation::gelu) return ghost::gelu(sum);
  if (a.activation == Activation::squared_relu) return ghost::relu(sum).pow(2);
  if (a.bias_activation_fusion) {
    const Dims sizes = sum.sizes();
    const Tensor rows = sum.view({-1, sizes.back()});
    const Tensor active = a.pretrain_loop ? compiled_swiglu(rows) : swiglu(rows);
    return active.view(sizes.leading().with(sizes.back() / 2));
  }
  const std::vector<Tensor> parts = sum.chunk(2, -1);
  const Tensor active = ghost::silu(parts[0]);
  return active.mul(parts[1].add(0.0));  // x_linear + config.glu_linear_offset
}

Tensor weighted_activation(const Arguments& a, const Tensor& x, const Tensor& bias,
                           const Tensor& weights) {
  const Tensor sum = bias.defined() ? x.add(bias) : x;
  if (a.activation == Activation::swiglu && a.bias_activation_fusion)
    return a.pretrain_loop ? compiled_weighted(sum, weights, sum.size(1) / 2)
                           : weighted_swiglu(sum, weights);
  if (a.activation == Activation::squared_relu && a.moe.fused_squared_relu)
    return compiled_weighted(sum, weights, sum.size(1));
  if (a.activation == Activation::quick_geglu) return weighted_quick_geglu(sum, weights);
  const Tensor active =
      a.activation == Activation::gelu ? ghost::gelu(sum) : activation(a, sum, {});
  return active.mul(weights).to(x.dtype());
}

Tensor bias_dropout_add(double rate, const Tensor& x, const Tensor& bias, const Tensor& residual) {
  if (rate == 0.0 && !bias.defined()) return residual.add(x);
  return apply({.name = "CompiledFunctionBackward",
                .inputs = {x, bias, residual},
                .forward =
                    [&](ToSave& save) {
                      const Tensor mask = rate > 0 ? empty(x.sizes(), DType::boolean) : Tensor();
                      save = {mask, bias};
                      return empty(x.sizes(), x.dtype());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = saved[0].defined() ? empty(grad.sizes(), grad.dtype()) : grad;
                      if (saved[1].defined()) in[1] = empty(saved[1].sizes(), saved[1].dtype());
                      in[2] = grad;
                    }});
}

Tensor rotary(const Arguments& a, const Tensor& t, const Tensor& freqs) {
  if (a.transformer_engine)
    return apply({.name = "FusedRoPEFuncBackward",
                  .inputs = {t},
                  .forward =
                      [&](ToSave& save) {
                        save = {freqs};
                        return empty(t.sizes(), t.dtype());
                      },
                  .backward = [](std::span<const Tensor>, const Tensor& grad,
                                 Gradients& in) { in[0] = empty(grad.sizes(), grad.dtype()); }});
  const std::int64_t rotated = freqs.size(-1);
  const Tensor turned = t.slice(-1, 0, rotated), passed = t.slice(-1, rotated, t.size(-1));
  Tensor sines;
  const Tensor cosines = times_mscale(ghost::cos(freqs), t.dtype());
  sines = times_mscale(ghost::sin(freqs), t.dtype());
  Tensor straight = turned.mul(cosines);
  Tensor across = rotated_half(turned);
  across = across.mul(sines);
  const Tensor sum = straight.add(across);
  straight.reset();
  across.reset();
  return ghost::cat({sum, passed}, -1);
}

}  // namespace memtape::megatron
