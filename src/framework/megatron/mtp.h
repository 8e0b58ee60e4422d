// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction (megatron/core/transformer/multi_token_prediction.py): layers after the
// decoder that each look one token further ahead. Such a layer joins the hidden states with the
// embeddings of the tokens one place later, projects both to one width and runs a transformer
// layer. Each depth has its own loss over the same output layer.
#pragma once

#include <deque>

#include "framework/megatron/hybrid_stack.h"
#include "framework/megatron/language_model.h"

namespace memtape::megatron {

/// What a micro-batch gives to these layers.
struct MtpInputs {
  Tensor tokens, position_ids;
  const LayerInputs& layer;
};

/// MultiTokenPredictionBlock.
class MtpBlock {
 public:
  MtpBlock(const nn::Scope& scope, Rank& rank, bool experts);
  /// The hidden states of the decoder and of every depth, one after the other.
  Tensor operator()(const Tensor& hidden_states, MtpInputs inputs, Embedding& embedding);

 private:
  struct Layer {
    Layer(const nn::Scope& scope, Rank& rank, bool experts);
    Tensor operator()(const Tensor& hidden_states, MtpInputs& inputs, Embedding& embedding);
    Tensor joined(const Tensor& hidden_states, const Tensor& embedded);

    Rank& rank;
    Norm enorm, hnorm;
    Linear eh_proj;
    std::optional<TransformerLayer> layer;
    std::optional<HybridStack> stack;  ///< set in hybrid models
    Norm final_norm;
  };
  std::deque<Layer> layers_;
  Rank& rank_;
};

/// What the losses of the depths are made from.
struct MtpLabels {
  Tensor labels, loss_mask;
};

/// process_mtp_loss: takes the decoder's hidden states out of what MtpBlock returned, and attaches
/// the losses of the depths to them.
Tensor with_mtp_losses(Rank& rank, const Tensor& hidden_states, const Tensor& output_weight,
                       MtpLabels labels);

}  // namespace memtape::megatron
