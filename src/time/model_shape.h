// SPDX-License-Identifier: Apache-2.0
// ModelShape: what a transformer computes, reduced to the few sizes on which its time depends.
// Equal layers that follow each other are one entry with a count. The sizes are read from a
// config.json under the names that transformers gives them. A test compares the parameters that
// follow from them with those of the models themselves.
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
  std::int64_t head_dim = 64;        ///< of queries and keys
  std::int64_t value_head_dim = 64;  ///< that of values
  std::int64_t window = 0;           ///< the tokens that each token sees; 0: all before it
  /// The sizes of latent attention; if q_rank is 0, queries are not compressed.
  std::int64_t q_rank = 0, kv_rank = 0, rope_dim = 0;
  std::int64_t in_width = 0;  ///< the width to which linear attention and state spaces project
  /// The heads that choose the tokens of sparse attention.
  std::int64_t index_heads = 0, index_dim = 0;
  std::int64_t top_tokens = 0;  ///< the tokens to which sparse attention attends; 0: all
  bool has_bias = false, gates_output = false;
};

/// What a layer does to each token.
struct MlpShape {
  std::int64_t width = 0;  ///< the width of the dense feed-forward; 0: there is none
  bool gated = true;       ///< there is a gate beside the up projection
  std::int64_t experts = 0, top_k = 0, expert_width = 0;
  std::int64_t top_groups = 0;  ///< the groups of experts from which a token's experts come; 0: any
  std::int64_t shared_width = 0;  ///< the width of all shared experts together
  bool clamps = false;  ///< gpt-oss: the activation is clamped and offset, and no kernel fuses that
  bool is_mixture() const { return experts > 0; }
};

struct LayerShape {
  std::int64_t count = 1;
  AttentionShape attention;
  MlpShape mlp;
};

struct ModelShape {
  std::int64_t hidden = 1, vocab = 1;
  /// In the order of the model; consecutive equal layers are one entry.
  std::vector<LayerShape> layers;
  bool tied = false;  ///< the embedding and the output share one matrix
  bool causal = true;
  std::int64_t predicted_tokens = 1;  ///< 1, plus 1 for each layer of multi-token prediction

  std::int64_t layer_count() const;
  /// The weights in the matrices of one layer, and in those of all layers, without embeddings and
  /// output.
  double layer_parameters(const LayerShape& layer) const;
  double layer_active_parameters(const LayerShape& layer) const;
  double parameters() const;
  /// The parameters that one token meets, without the embedding.
  double active_parameters() const;
};

/// `built` is the model that the same configuration builds, which knows what its family assumes:
/// its attention, its windows and its gates go before the configuration, and a layer whose matrices
/// are others than the configuration's is refused. `built` is null if memtape does not build the
/// family: then matrices are tied only if the configuration says so, and feed-forwards are gated.
Result<ModelShape> model_shape(const Config& config, const BuiltModel* built);
/// The same, with the built model if memtape knows the family.
Result<ModelShape> model_shape(const Config& config);

}  // namespace memtape::time
