// SPDX-License-Identifier: Apache-2.0
// What most decoders share: an RMS norm, attention over rotated heads, normed each where the model
// has weights for it, and in the last layer only the rows that are wanted. Layers differ in what
// comes behind.
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// Attention's output, and the layer's input that it is added to.
struct Attended {
  Tensor *y, *residual;
};

/// What layer `il` makes of them.
using RestOfLayer = Tensor* (*)(GraphBuilder& b, std::int64_t il, Attended attended);

/// The whole graph of such a model.
void build_rotated_decoder(GraphBuilder& b, RestOfLayer rest);

}  // namespace memtape::llamacpp::arch
