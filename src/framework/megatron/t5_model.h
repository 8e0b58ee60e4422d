// SPDX-License-Identifier: Apache-2.0
// T5Model (megatron/core/models/T5) as examples/t5/pretrain_t5.py runs it: an encoder, a decoder
// whose layers also attend to the encoder's output, and one embedding for both.
#pragma once

#include "framework/megatron/language_model.h"

namespace memtape::megatron {

class T5Model final : public StageModel {
 public:
  T5Model(Rank& rank, const ChunkPlace& place);
  Tensor forward_step(const Tensor& from_before) override;

 private:
  struct Batch {
    Tensor encoder_tokens, decoder_tokens, labels, loss_mask;
    AttentionMask encoder_mask, decoder_mask, cross_mask;
  };
  Batch batch() const;

  Embedding embedding_;
  TransformerBlock encoder_, decoder_;
  Tensor output_weight_, output_bias_;
};

}  // namespace memtape::megatron
