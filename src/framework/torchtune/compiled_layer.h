// SPDX-License-Identifier: Apache-2.0
// A TransformerSelfAttentionLayer that torch.compile has compiled. Over packed rows flex attention
// is kept out of the compiler (modules/attention_utils.py, compile_friendly_flex_attention), which
// breaks the layer into four graphs: its first norm; queries, keys and values; the output
// projection; and the rest. Each function here is the code that inductor generates for one of them
// (PyTorch 2.5). Over other rows a layer is one graph, which keeps the same but for the places of
// the rotation's table.
#pragma once

#include <cstdint>

#include "framework/torchtune/decoder_args.h"
#include "ghost/tensor.h"

namespace memtape::torchtune {

using ghost::Tensor;

/// A linear layer as the graphs see it. Matrices of an adapter are undefined where it has none.
struct LinearWeights {
  Tensor weight, lora_a, lora_b;
  bool is_adapted() const { return lora_a.defined(); }
};

struct LayerWeights {
  LinearWeights q, k, v, o, w1, w2, w3;
  Tensor sa_scale, mlp_scale;
};

enum class Rows : std::uint8_t { packed, of_one_text };

Tensor compiled_layer(const DecoderArgs& args, const LayerWeights& weights, Rows rows,
                      const Tensor& x);

}  // namespace memtape::torchtune
