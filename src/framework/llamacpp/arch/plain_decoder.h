// SPDX-License-Identifier: Apache-2.0
// Decoders that a few properties tell apart: which norm, which biases, which feed-forward. Their
// tensors and their graph follow from the description; real files may have fewer biases or more.
#pragma once

#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {

struct PlainDecoder {
  Norm norm = Norm::rms;
  bool norm_weights = true;  ///< else norms have nothing to learn
  bool norm_bias = false, qkv_bias = false, output_bias = false, ffn_bias = false;
  bool fused_qkv = false;
  bool head_norms = false;  ///< of Q and K
  bool row_norms = false;   ///< of all of Q and all of K instead
  bool rotates_first = false, scales_queries = false;
  bool rope_factors = false;  ///< files may have them
  bool learned_positions = false, token_norm = false, vocabulary_bias = false;
  bool tied = false;            ///< always
  bool residual_first = false;  ///< in the sum with what the feed-forward adds
  Activation activation = Activation::silu;
  bool gated = true;
  std::string_view ffn_norm = "ffn_norm";  ///< empty where there is none
};

void list_plain(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights);
/// One layer of it; `dense` where it has no experts although others do.
void list_plain_layer(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights,
                      std::int64_t il, bool dense = false);
void build_plain(const PlainDecoder& kind, GraphBuilder& b, RestOfLayer rest);
Tensor* rest_of_plain(const PlainDecoder& kind, GraphBuilder& b, std::int64_t il, Attended a);

/// The experts that `hp` describes, and the shared ones beside them.
Tensor* experts_and_shared(GraphBuilder& b, std::int64_t il, Tensor* x, Activation activation);

/// Those where the layer has them, else one dense feed-forward.
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
