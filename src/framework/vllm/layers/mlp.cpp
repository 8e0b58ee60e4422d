// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/mlp.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

LinearOptions column_options(const MlpOptions& options) {
  return {.cut = options.is_replicated ? Cut::replicated : Cut::column,
          .bias = options.bias,
          .quantized = options.quantized};
}

LinearOptions row_options(const MlpOptions& options) {
  return {.cut = options.is_replicated ? Cut::replicated : Cut::row,
          .bias = options.bias,
          .reduce_results = options.reduce_results,
          .quantized = options.quantized};
}

Tensor act_and_mul(const Tensor& x, DType dtype) {
  return kernel_output("act_and_mul", x.sizes().leading().with(x.size(-1 + x.dim()) / 2), dtype);
}

}  // namespace

GatedMlp::GatedMlp(const Place& place, std::int64_t hidden, std::int64_t width,
                   const MlpOptions& options)
    : Module(place.scope()),
      options_(options),
      gate_up_proj_(place / "gate_up_proj", hidden, {width, width}, column_options(options)),
      down_proj_(place / "down_proj", width, {hidden}, row_options(options)) {}

Tensor GatedMlp::forward(const Tensor& x) {
  Tensor gate_up = gate_up_proj_(x);
  // llama.py's MLP, the one that drops its projection, quantizes with the activation.
  Tensor activated = options_.drops_projection && down_proj_.takes_quantized_input()
                         ? act_and_mul(gate_up, DType::float8_e4m3fn)
                         : act_and_mul(gate_up, gate_up.dtype());
  if (options_.drops_projection) gate_up.reset();
  return down_proj_(activated);
}

PlainMlp::PlainMlp(const Place& place, std::int64_t hidden, std::int64_t width,
                   const PlainMlpNames& names)
    : Module(place.scope()),
      up_(place / names.up, hidden, {width}, {.bias = true}),
      down_(place / names.down, width, {hidden}, {.cut = Cut::row, .bias = true}) {}

Tensor PlainMlp::run(Tensor x) {
  x = up_(x);
  x = kernel_output("activation", x.sizes(), x.dtype());
  return down_(x);
}

}  // namespace memtape::vllm
