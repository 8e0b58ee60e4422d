// SPDX-License-Identifier: Apache-2.0
// axolotl's fused LoRA functions (0.19, kernels/lora.py, swiglu.py, geglu.py, quantize.py): there
// is one autograd function for all projections of an input, and their products are added in place.
// The functions keep a second copy of the adapters in the dtype of the input. Those of the gated
// MLP also keep its input and the two factors, which backward overwrites.
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

/// LoRA_QKV: the projections of one input [B, S, H]. `dropped`, if it is defined, is what dropout
/// made of the input for the adapters.
std::vector<Tensor> lora_projections(const Tensor& x, const Tensor& dropped,
                                     std::span<const LoraParameters> projections);

/// LoRA_O: one projection. The gradient of its base is computed before that of the adapter is
/// added.
Tensor lora_output(const Tensor& x, const Tensor& dropped, const LoraParameters& projection);

/// LoRA_MLP: gate, up and down, with silu or gelu between them.
Tensor lora_mlp(const Tensor& x, const Tensor& dropped,
                const std::array<LoraParameters, 3>& projections);

}  // namespace memtape::transformers::axolotl
