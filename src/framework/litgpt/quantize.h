// SPDX-License-Identifier: Apache-2.0
// litgpt's --quantize bnb.nf4, bnb.fp4 and both with -dq: lightning.fabric's BitsandbytesPrecision
// (2.6, plugins/precision/bitsandbytes.py) puts 4-bit layers in the place of every torch.nn.Linear,
// each quantized by way of float16 as it is made.
#pragma once

#include "nn/layers.h"

namespace memtape::litgpt {

struct Quantize {
  bool double_quant = false;
  DType compute_dtype = DType::bfloat16;
  /// litgpt asked for bitsandbytes 0.41 and 0.42 then, whose products keep their input.
  bool before_0_5 = false;
};

/// _Linear4bit.__init__, once the layer itself is there.
void quantize_linear(nn::Linear& layer, const Quantize& how);

}  // namespace memtape::litgpt
