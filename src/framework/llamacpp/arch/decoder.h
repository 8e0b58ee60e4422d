// SPDX-License-Identifier: Apache-2.0
// What most decoders share: a norm, attention over heads that are rotated and normed where the
// model has weights for it, and in the last layer only the rows that are wanted. Layers differ in
// what comes behind.
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// Attention's output, the layer's input that it is added to, and that input normed.
struct Attended {
  Tensor *y, *residual, *normed;
};

/// What layer `il` makes of them.
using RestOfLayer = Tensor* (*)(GraphBuilder& b, std::int64_t il, Attended attended);

struct DecoderSpec {
  RestOfLayer rest = nullptr;
  Norm norm = Norm::rms;              ///< before attention and at the end
  Norm head_norm = Norm::rms;         ///< of Q and K
  bool norm_first = true;             ///< else attention takes the layer's input
  std::string_view second_norm = "";  ///< of the layer's input, for attention alone, where it is
  bool norms_rows = false;            ///< all of Q and all of K, not their heads
  bool rotates_first = false;         ///< then norms Q and K
  bool scales_queries = false;        ///< before attention, instead of within
};

/// The whole graph of such a model.
void build_decoder(GraphBuilder& b, const DecoderSpec& spec);

/// What a layer makes of its normed input.
using FeedForward = Tensor* (*)(GraphBuilder& b, std::int64_t il, Tensor* x);

/// Both added, and what the feed-forward makes of their sum, normed by `norm`, added to it.
Tensor* add_feed_forward(GraphBuilder& b, std::int64_t il, Attended attended,
                         FeedForward feed_forward, std::string_view norm = "ffn_norm.weight");
/// The same for layers that are built one by one: in the last only the rows that are wanted.
Tensor* finish_layer(GraphBuilder& b, std::int64_t il, Tensor* y, Tensor* residual, Tensor* rows,
                     FeedForward feed_forward);

}  // namespace memtape::llamacpp::arch
