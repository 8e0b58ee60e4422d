// SPDX-License-Identifier: Apache-2.0
// Decoders that differ in a few properties only: which norm, which biases and which feed-forward
// they have. Their tensors and their graph follow from this description; real files may have fewer
// or more biases.
#pragma once

#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {

struct PlainDecoder {
  Norm norm = Norm::rms;
  bool norm_weights = true;  ///< false: norms have no weights
  bool norm_bias = false, qkv_bias = false, output_bias = false, ffn_bias = false;
  bool fused_qkv = false;
  bool head_norms = false;  ///< Q and K are normed head by head
  bool row_norms = false;   ///< Q and K are normed as whole rows instead
  bool rotates_first = false, scales_queries = false;
  bool rope_factors = false;  ///< files may have them
  bool learned_positions = false, token_norm = false, vocabulary_bias = false;
  bool tied = false;            ///< the output is always the embeddings' matrix
  bool residual_first = false;  ///< the residual is the first operand of the feed-forward's sum
  Activation activation = Activation::silu;
  bool gated = true;
  std::string_view ffn_norm = "ffn_norm";  ///< empty if there is none
};

void list_plain(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights);
/// Lists one layer of it. `dense` marks a layer that has no experts although others do.
void list_plain_layer(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights,
                      std::int64_t il, bool dense = false);
void build_plain(const PlainDecoder& kind, GraphBuilder& b, RestOfLayer rest);
Tensor* rest_of_plain(const PlainDecoder& kind, GraphBuilder& b, std::int64_t il, Attended a);

/// Applies the experts that `hp` describes, and the shared experts beside them.
Tensor* experts_and_shared(GraphBuilder& b, std::int64_t il, Tensor* x, Activation activation);

/// Applies the experts if the layer has them, else one dense feed-forward.
Tensor* dense_or_experts(GraphBuilder& b, std::int64_t il, Tensor* x);

template <const PlainDecoder& kKind>
constexpr Architecture plain_decoder(std::string_view name,
                                     void (*read)(Hyperparameters&, KeyReader&)) {
  constexpr RestOfLayer kRest = [](GraphBuilder& b, std::int64_t il, Attended a) {
    return rest_of_plain(kKind, b, il, a);
  };
  return {name, read,
          [](const Hyperparameters& hp, WeightList& weights) { list_plain(kKind, hp, weights); },
          [](GraphBuilder& b) { build_plain(kKind, b, kRest); }};
}

}  // namespace memtape::llamacpp::arch
