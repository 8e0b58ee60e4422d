// SPDX-License-Identifier: Apache-2.0
// The layers of Nemotron-H, a letter for each: M is Mamba 2, * attention, - an MLP and E experts.
// Its configurations say them as `layers_block_type` or `layer_types`, by names of which there are
// an older and a newer spelling, or as `hybrid_override_pattern` (transformers 5.17,
// models/nemotron_h/configuration_nemotron_h.py).
#pragma once

#include <string>

#include "model/config.h"

namespace memtape {

/// What is missing or unknown is a failure of the configuration.
std::string layer_letters(const Config& config);

}  // namespace memtape
