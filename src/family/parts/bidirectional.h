// SPDX-License-Identifier: Apache-2.0
// What encoders that are built as Llama's decoder share: attention in both directions, and positions
// that are counted from 0.
#pragma once

#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "ghost/ops/creation.h"

namespace memtape::family {

inline AttentionCall bidirectional_call(const DecoderConfig& c) {
  AttentionCall call = attention_call(c);
  call.is_causal = false;
  return call;
}

struct BidirectionalParts : DecoderParts {
  static Positions positions(const Tensor& inputs_embeds) {
    const Tensor ids = ghost::arange(inputs_embeds.size(1), DType::int64).unsqueeze(0);
    return {ids, ids};
  }
};

}  // namespace memtape::family
