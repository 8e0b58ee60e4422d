// SPDX-License-Identifier: Apache-2.0
// TransformerDecoder of torchtune (0.6.1, modules/transformer.py), as a recipe for one GPU sets it
// up: with a checkpoint around each layer (training/memory.py, set_activation_checkpointing), each
// layer compiled (training/_compile.py), or what its checkpoints keep in host memory.
#pragma once

#include <memory>
#include <vector>

#include "family/pretrained.h"
#include "framework/torchtune/layers.h"
#include "framework/torchtune/offload_activations.h"
#include "nn/layer_stack.h"

namespace memtape::torchtune {

/// How the layers run.
struct LayerCalls {
  bool checkpoints = false;
  OffloadActivations* offload = nullptr;  ///< null: what is kept stays on the GPU
};

class TransformerDecoder final : public family::PretrainedModel {
 public:
  /// `lora` is null unless the builder is lora_*.
  TransformerDecoder(const DecoderArgs& args, const Levers& levers, const Lora* lora, DType dtype);

  /// model.output over the last hidden state, in chunks along the sequence or as one tensor in
  /// float32.
  std::vector<Tensor> logits(const Tensor& tokens, const Tensor& input_pos,
                             const LayerCalls& calls);
  family::ModelOutput forward(const family::Batch& batch) override;

 private:
  Tensor hidden_states(const Tensor& tokens, const Tensor& input_pos, const LayerCalls& calls);
  Tensor output_of(const Tensor& h);

  const DecoderArgs args_;
  const Levers levers_;
  const Parts parts_;
  nn::Scope tok_scope_, layers_scope_, norm_scope_;
  RotaryEmbeddings rope_;
  nn::ModuleList<TransformerSelfAttentionLayer> layers_;
  nn::Embedding tok_embeddings_;
  std::unique_ptr<Linear> output_;  ///< null: TiedLinear
  RMSNorm norm_;
};

}  // namespace memtape::torchtune
