// SPDX-License-Identifier: Apache-2.0
// GPTModel (megatron/core/models/gpt/gpt_model.py): the part of it that one virtual stage of a
// pipeline rank holds: embeddings on the first, layers, final norm, output layer and loss on the
// last.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "framework/megatron/transformer_layer.h"

namespace memtape::megatron {

/// One chunk of the model: which layers, and whether the ends are its.
struct ChunkPlace {
  std::int64_t first_layer = 0, layers = 0;
  bool first = false, last = false;  ///< pre_process, post_process
};

/// A micro-batch as the data loader gives it (get_batch_on_this_tp_rank): on ends of the pipeline
/// only what that end needs.
struct MicroBatch {
  Tensor tokens, labels, loss_mask, attention_mask, position_ids;
};

class GptModel {
 public:
  GptModel(Rank& rank, const ChunkPlace& place);

  /// From the tokens, or from the stage before, to the loss per token or the hidden states.
  Tensor forward(const MicroBatch& batch, const Tensor& from_before);
  const ChunkPlace& place() const { return place_; }
  nn::ModuleNode& root() { return tree_.root(); }

  /// decoder.input_tensor: what the stage before sent last; it stays until the next arrives.
  Tensor input_tensor;

 private:
  Tensor embed(const MicroBatch& batch);
  Tensor layers(Tensor hidden_states, const LayerInputs& inputs);
  Tensor rotary_freqs();
  Tensor loss(const Tensor& logits, const Tensor& labels);
  nn::Scope at(std::string_view name) { return nn::Scope(tree_, tree_.root()) / name; }

  Rank& rank_;
  ChunkPlace place_;
  nn::ModuleTree tree_;
  Tensor word_embeddings_, position_embeddings_, inverse_frequencies_, cached_freqs_;
  std::deque<TransformerLayer> layers_;
  std::optional<Norm> final_norm_;
  Tensor output_weight_;
};

/// vocab_parallel_cross_entropy, fused or not (megatron/core/tensor_parallel/cross_entropy.py).
Tensor vocab_parallel_cross_entropy(const Arguments& a, const Tensor& logits, const Tensor& target);

/// ColumnParallelLinear of the output layer: a weight that may be the embedding's.
Tensor output_layer(Rank& rank, const Tensor& x, const Tensor& weight);

}  // namespace memtape::megatron
