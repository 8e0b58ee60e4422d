// SPDX-License-Identifier: Apache-2.0
// GPTModel (megatron/core/models/gpt/gpt_model.py) as pretrain_gpt.py runs it.
#pragma once

#include "framework/megatron/hybrid_stack.h"
#include "framework/megatron/mtp.h"

namespace memtape::megatron {

/// A micro-batch as the data loader returns it (get_batch_on_this_tp_rank). The first and the last
/// stage of a pipeline get only what they need.
struct MicroBatch {
  Tensor tokens, labels, loss_mask, attention_mask, position_ids;
};

class GptModel final : public StageModel {
 public:
  GptModel(Rank& rank, const ChunkPlace& place);
  Tensor forward_step(const Tensor& from_before) override;

 private:
  /// One tensor of a batch: [b, s], or [b, 1, s, keys] if `keys` is set.
  struct Part {
    Tensor* tensor;
    DType dtype;
    bool wanted = false;
    std::int64_t keys = 0;
  };
  void load(const std::vector<Part>& parts) const;
  MicroBatch batch() const;
  Tensor forward(const MicroBatch& batch, const Tensor& from_before);
  Tensor rotary_freqs();

  Tensor inverse_frequencies_, cached_freqs_;
  std::optional<Embedding> embedding_;
  std::optional<TransformerBlock> decoder_;
  std::optional<HybridStack> stack_;  ///< replaces the decoder in hybrid models
  std::optional<MtpBlock> mtp_;
  Tensor output_weight_;
};

}  // namespace memtape::megatron
