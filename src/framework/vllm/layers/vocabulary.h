// SPDX-License-Identifier: Apache-2.0
// The table of token embeddings and the head, both of which are divided along the vocabulary,
// padded to a multiple of 64 (vllm/model_executor/layers/vocab_parallel_embedding.py), and the
// logits (logits_processor.py).
#pragma once

#include <memory>

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

class VocabParallelEmbedding : public nn::Module<VocabParallelEmbedding> {
 public:
  VocabParallelEmbedding(const Place& place, std::int64_t vocabulary, std::int64_t width);
  Tensor forward(const Tensor& input_ids);
  const Tensor& table() const { return table_; }
  /// Replaces its own table by that of another model.
  void share(const Tensor& table);

 protected:
  Runtime& runtime_;
  Weights weights_;
  std::int64_t vocabulary_;
  bool is_cut_;
  std::int64_t rows_;
  Tensor table_;
};

/// ParallelLMHead. If the two are tied, it has the embedding's table. Models that pool have none.
class ParallelLMHead {
 public:
  ParallelLMHead(const Place& place, std::int64_t vocabulary, std::int64_t width,
                 bool bias = false);
  /// tie_weights: the head's own table is freed.
  void tie(const Tensor& table);
  /// The same where the head is another model's.
  void share(const ParallelLMHead& other);

  Tensor logits(const Tensor& hidden_states, bool soft_cap) const;

 private:
  Runtime& runtime_;
  Weights weights_;
  Tensor table_, bias_;
  std::shared_ptr<Linear> quantized_;  ///< in place of the table
};

}  // namespace memtape::vllm
