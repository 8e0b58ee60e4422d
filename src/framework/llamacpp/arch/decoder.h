// SPDX-License-Identifier: Apache-2.0
// What most decoders share: a norm, attention over heads that are rotated, and normed if the model
// has weights for that, and a last layer that computes only the rows that are wanted. Layers differ
// in what follows the attention.
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// The output of attention, the layer's input to which it is added, and the same input after the
/// norm.
struct Attended {
  Tensor *y, *residual, *normed;
};

/// Computes the rest of layer `il` from these.
using RestOfLayer = Tensor* (*)(GraphBuilder& b, std::int64_t il, Attended attended);

struct DecoderSpec {
  RestOfLayer rest = nullptr;
  Norm norm = Norm::rms;       ///< that before attention and that at the end
  Norm head_norm = Norm::rms;  ///< that of Q and K
  bool norm_first = true;      ///< false: attention takes the layer's input as it is
  /// Another norm of the layer's input that only attention uses, if the model has it.
  std::string_view second_norm = "";
  bool norms_rows = false;      ///< norms all of Q and all of K together, not each of their heads
  bool rotates_first = false;   ///< rotates Q and K before they are normed
  bool scales_queries = false;  ///< queries are scaled before attention, not within it
};

/// Builds the whole graph of such a model.
void build_decoder(GraphBuilder& b, const DecoderSpec& spec);

/// Computes the feed-forward of a layer from its normed input.
using FeedForward = Tensor* (*)(GraphBuilder& b, std::int64_t il, Tensor* x);

/// Adds the output of attention to the residual. Norms the sum by `norm`, applies the feed-forward,
/// and adds its result to the sum.
Tensor* add_feed_forward(GraphBuilder& b, std::int64_t il, Attended attended,
                         FeedForward feed_forward, std::string_view norm = "ffn_norm.weight");
/// The same for layers that are built one by one. The last layer computes only the rows that are
/// wanted.
Tensor* finish_layer(GraphBuilder& b, std::int64_t il, Tensor* y, Tensor* residual, Tensor* rows,
                     FeedForward feed_forward);

}  // namespace memtape::llamacpp::arch
