// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction (megatron/core/transformer/multi_token_prediction.py): behind the decoder,
// layers that each look one token further. A layer joins the hidden states with the embeddings of
// the tokens one place on, projects both to one width and runs a transformer layer; each depth has
// a loss of its own over the same output layer.
#pragma once

#include <deque>

#include "framework/megatron/hybrid_stack.h"
#include "framework/megatron/language_model.h"

namespace memtape::megatron {

/// What a micro-batch brings to the layers.
struct MtpInputs {
  Tensor tokens, position_ids;
  const LayerInputs& layer;
};

/// MultiTokenPredictionBlock.
class MtpBlock {
 public:
  MtpBlock(const nn::Scope& scope, Rank& rank, bool experts);
  /// The hidden states of the decoder and of every depth, one behind the other.
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
    std::optional<HybridStack> stack;  ///< of hybrid models
    Norm final_norm;
  };
  std::deque<Layer> layers_;
  Rank& rank_;
};

/// What the losses of the depths are made of.
struct MtpLabels {
  Tensor labels, loss_mask;
};

/// process_mtp_loss: the decoder's hidden states, out of what MtpBlock gave, with the losses of the
/// depths hung onto them.
Tensor with_mtp_losses(Rank& rank, const Tensor& hidden_states, const Tensor& output_weight,
                       MtpLabels labels);

}  // namespace memtape::megatron
