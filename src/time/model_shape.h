// SPDX-License-Identifier: Apache-2.0
// ModelShape: what a transformer computes, as the few sizes that its time depends on: layers of
// equal kind with a count, read from a config.json by the names that transformers gives them.
// A test holds the parameters that follow from it to those of the models themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/config.h"
#include "time/built_model.h"

namespace memtape::time {

/// How a layer mixes tokens.
struct AttentionShape {
  enum class Kind : std::uint8_t { multi_head, latent, linear, none };
  Kind kind = Kind::multi_head;
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t head_dim = 64;                          ///< of queries and keys
  std::int64_t value_head_dim = 64;                    ///< of values
  std::int64_t window = 0;                             ///< tokens that each sees; 0: all before it
  std::int64_t q_rank = 0, kv_rank = 0, rope_dim = 0;  ///< of latent attention; q_rank 0: not cut
  std::int64_t in_width = 0;  ///< that linear attention and state spaces project to
  std::int64_t index_heads = 0, index_dim = 0;  ///< that choose the tokens of sparse attention
  std::int64_t top_tokens = 0;  ///< of sparse attention: so many tokens are attended to; 0: all
  bool has_bias = false, gates_output = false;
};

/// What a layer does to each token.
struct MlpShape {
  std::int64_t width = 0;  ///< of the dense feed-forward; 0: none
  bool gated = true;       ///< a gate beside the up projection
  std::int64_t experts = 0, top_k = 0, expert_width = 0;
  std::int64_t top_groups = 0;    ///< groups of experts that a token's experts come from; 0: any
  std::int64_t shared_width = 0;  ///< of all shared experts together
  bool clamps = false;  ///< gpt-oss: its activation is clamped and offset, which no kernel fuses
  bool is_mixture() const { return experts > 0; }
};

struct LayerShape {
  std::int64_t count = 1;
  AttentionShape attention;
  MlpShape mlp;
};

struct ModelShape {
  std::int64_t hidden = 1, vocab = 1;
  std::vector<LayerShape> layers;  ///< in the order of the model, runs of equal layers as one
  bool tied = false;               ///< one matrix for embedding and output
  bool causal = true;
  std::int64_t predicted_tokens = 1;  ///< 1, and one more for each multi-token prediction layer

  std::int64_t layer_count() const;
  /// Weights of the matrices of one layer, and of all of them; embeddings and output apart.
  double layer_parameters(const LayerShape& layer) const;
  double layer_active_parameters(const LayerShape& layer) const;
  double parameters() const;
  /// Those that a token meets, the embedding left out.
  double active_parameters() const;
};

/// `built`: the same configuration's model, which knows what its family takes for granted. Null
/// where memtape builds none: nothing is tied then but what says so, and feed-forwards are gated.
Result<ModelShape> model_shape(const Config& config, const BuiltModel* built);
/// With the model built where it can be.
Result<ModelShape> model_shape(const Config& config);

}  // namespace memtape::time
