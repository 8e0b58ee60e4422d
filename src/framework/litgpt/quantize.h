// SPDX-License-Identifier: Apache-2.0
// litgpt's --quantize bnb.nf4, bnb.fp4 and both with -dq: lightning.fabric's BitsandbytesPrecision
// (2.6, plugins/precision/bitsandbytes.py) replaces every torch.nn.Linear by a 4-bit layer. Each is
// quantized by way of float16 as it is made.
#pragma once

#include <vector>

#include "nn/layers.h"

namespace memtape::litgpt {

struct Quantize {
  bool double_quant = false;
  DType compute_dtype = DType::bfloat16;
  /// Older releases of litgpt ask for bitsandbytes 0.41 or 0.42, whose products keep their input.
  bool before_0_5 = false;
};

/// _Linear4bit.__init__, after the layer itself has been made, and then the loading of the
/// checkpoint, which quantizes anew (_quantize_on_load_hook) and replaces the weight and its state.
/// bitsandbytes' layer names that state, too, since 0.43 (nn/modules.py: Params4bit._quantize sets
/// module.quant_state), and keeps the first one: returns its tensors.
std::vector<ghost::Tensor> quantize_linear(nn::Linear& layer, const Quantize& how);

}  // namespace memtape::litgpt
