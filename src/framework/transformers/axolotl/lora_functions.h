// SPDX-License-Identifier: Apache-2.0
// axolotl's fused LoRA functions (0.19, kernels/lora.py, swiglu.py, geglu.py, quantize.py): one
// autograd function for all projections of an input, whose products are added in place. They keep
// the adapters once more in the dtype of the input, and of the gated MLP its input and the two
// factors, over which backward writes.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "nn/layers.h"

namespace memtape::transformers::axolotl {

using ghost::Tensor;

/// get_lora_parameters of a projection.
struct LoraParameters {
  const nn::Projection* layer = nullptr;
  Tensor A, B;
};

/// LoRA_QKV: projections of one input [B, S, H]; `dropped`, where defined, is what dropout made of
/// it for the adapters.
std::vector<Tensor> lora_projections(const Tensor& x, const Tensor& dropped,
                                     std::span<const LoraParameters> projections);

/// LoRA_O: one projection, whose base has its gradient before the adapter's is added.
Tensor lora_output(const Tensor& x, const Tensor& dropped, const LoraParameters& projection);

/// LoRA_MLP: gate, up and down, with silu or gelu between them.
Tensor lora_mlp(const Tensor& x, const Tensor& dropped,
                const std::array<LoraParameters, 3>& projections);

}  // namespace memtape::transformers::axolotl
