// SPDX-License-Identifier: Apache-2.0
// The activation that a configuration names.
#pragma once

#include "model/config.h"
#include "nn/activations.h"

namespace memtape::family {

/// ACT2FN[config.KEY]. An unknown name fails with the nearest known one.
nn::Activation activation(const Config& config, const char* key, std::string_view otherwise);

}  // namespace memtape::family
