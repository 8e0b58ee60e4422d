// SPDX-License-Identifier: Apache-2.0
// The experts to which a model of SGLang refers from the moment when they are loaded
// (routed_experts_weights_of_layer, for the load balancing of experts). What quantization or
// repacking then puts in their place comes on top of them, for as long as the server runs.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "ghost/tensor.h"
#include "model/config.h"
#include "nn/module.h"
#include "release/release.h"

namespace memtape::sglang {

/// The weights that the model refers to, before they are processed.
std::vector<ghost::Tensor> referred_experts(const Config& config, const Release& release,
                                            nn::ModuleNode& root);

/// Drops those that are still the model's parameters, and returns the bytes of the others.
Bytes left_beside(std::vector<ghost::Tensor>& referred, const nn::ModuleNode& root);

}  // namespace memtape::sglang
