// SPDX-License-Identifier: Apache-2.0
// ExpertLocationMetadata (srt/eplb/expert_location.py): tables that say for every layer which copy
// of an expert lies where. They are on the device before the model is loaded, even if experts never
// move. The largest table grows with the square of the number of experts.
#pragma once

#include <vector>

#include "framework/vllm/ops.h"
#include "model/config.h"

namespace memtape::sglang {

/// The tables, with each expert once (init_trivial). There are none if the architecture does not
/// have them.
std::vector<vllm::Tensor> locate_experts(const Config& config);

}  // namespace memtape::sglang
