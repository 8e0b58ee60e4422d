// SPDX-License-Identifier: Apache-2.0
// What the language models of megatron/core/models share (common/language_module,
// common/embeddings, transformer/transformer_block.py). StageModel is the part of a model that one
// virtual stage of a pipeline rank holds. The first stage has the embeddings, and the last one has
// the loss.
#pragma once

#include <deque>
#include <optional>

#include "framework/megatron/transformer_layer.h"

namespace memtape::megatron {

/// One chunk of the model: its layers, and whether it has the two ends.
struct ChunkPlace {
  std::int64_t first_layer = 0, layers = 0;
  std::size_t virtual_stage = 0;
  bool first = false, last = false;  ///< pre_process, post_process
  bool mtp = false;                  ///< it has the layers that predict further tokens
  bool final_norm = false;
};

class StageModel {
 public:
  StageModel(Rank& rank, const ChunkPlace& place)
      : rank_(rank), place_(place), tree_(rank.a.params_dtype), first_kept_(rank.kept.size()) {
    rank.kept.push_back(&input_tensor_);
  }
  virtual ~StageModel() = default;
  StageModel(const StageModel&) = delete;
  StageModel& operator=(const StageModel&) = delete;

  /// forward_step_func of the program with its get_batch and loss_func. It takes what the stage
  /// before has sent, if there is one, and returns the hidden states for the next stage, or the
  /// loss.
  virtual Tensor forward_step(const Tensor& from_before) = 0;

  const ChunkPlace& place() const { return place_; }
  /// The place in Rank::kept at which those of this chunk begin.
  std::size_t first_kept() const { return first_kept_; }
  nn::ModuleNode& root() { return tree_.root(); }

 protected:
  nn::Scope at(std::string_view name) { return nn::Scope(tree_, tree_.root()) / name; }

  Rank& rank_;
  ChunkPlace place_;
  nn::ModuleTree tree_;
  std::size_t first_kept_;
  /// decoder.input_tensor: what the stage before sent last. It stays until the next one arrives.
  Tensor input_tensor_;
};

/// Which tokens belong to rows of the vocabulary that other ranks hold.
Tensor outside_of_shard(const Tensor& tokens);
/// tokens.clone() - vocab_start_index.
Tensor counted_from_shard(const Tensor& tokens);

/// LanguageModelEmbedding over VocabParallelEmbedding.
class Embedding {
 public:
  /// `token_types` is the number of kinds of tokens that have an embedding (two in BERT).
  Embedding(const nn::Scope& scope, Rank& rank, std::int64_t token_types);
  Tensor operator()(const Tensor& tokens, const Tensor& position_ids);
  const Tensor& word_weight() const { return words_; }

 private:
  Tensor picked(const Tensor& tokens);
  Tensor looked_up(const Tensor& tokens);

  Rank& rank_;
  Tensor words_, positions_, types_;
};

/// TransformerBlock: the layers, and the norm after the last of them.
class TransformerBlock {
 public:
  struct Shape {
    std::int64_t first_layer = 0, layers = 0;
    bool final_norm = false;
    bool crosses = false;  ///< each layer also attends to a context
  };
  TransformerBlock(const nn::Scope& scope, Rank& rank, const Shape& shape);
  Tensor operator()(Tensor hidden_states, const LayerInputs& inputs);

 private:
  static void make_viewless(const Tensor& hidden_states);

  Rank& rank_;
  std::deque<TransformerLayer> layers_;
  std::optional<Norm> final_norm_;
};

/// vocab_parallel_cross_entropy, either fused or not
/// (megatron/core/tensor_parallel/cross_entropy.py).
Tensor vocab_parallel_cross_entropy(const Arguments& a, const Tensor& logits, const Tensor& target);

/// compute_language_model_loss, which turns the labels from [b s] to [s b], and the losses back.
Tensor language_model_loss(const Arguments& a, const Tensor& logits, const Tensor& labels);

/// ColumnParallelLinear of the output layer. Its weight may be the embedding's, and it may have a
/// bias.
Tensor output_layer(Rank& rank, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// loss_func of the programs: the sum of the losses that the mask keeps.
Tensor masked_sum(const Tensor& losses, const Tensor& loss_mask);

}  // namespace memtape::megatron
