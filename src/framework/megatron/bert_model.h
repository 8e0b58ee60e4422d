// SPDX-License-Identifier: Apache-2.0
// BertModel (megatron/core/models/bert) as examples/bert/pretrain_bert.py runs it: it predicts
// masked words and, by default, which of two sentences came first.
#pragma once

#include "framework/megatron/language_model.h"

namespace memtape::megatron {

class BertModel final : public StageModel {
 public:
  BertModel(Rank& rank, const ChunkPlace& place);
  Tensor forward_step(const Tensor& from_before) override;

 private:
  /// torch.nn.Linear with a bias.
  struct Dense {
    Tensor weight, bias;
    Tensor operator()(const Tensor& x) const;
  };
  Dense dense(std::string_view name, std::int64_t out);
  Tensor loss(const Tensor& hidden_states, const Tensor& labels, const Tensor& loss_mask);

  std::optional<Embedding> embedding_;
  std::optional<TransformerBlock> encoder_;
  Dense head_, binary_head_, pooler_;
  Tensor head_norm_weight_, head_norm_bias_, output_weight_, output_bias_;
};

}  // namespace memtape::megatron
