// SPDX-License-Identifier: Apache-2.0
// The activation a configuration names.
#pragma once

#include "model/config.h"
#include "nn/activations.h"

namespace memtape::family {

/// ACT2FN[config.KEY]; an unknown name is a failure of the configuration that names the nearest.
nn::Activation activation(const Config& config, const char* key, std::string_view otherwise);

}  // namespace memtape::family
