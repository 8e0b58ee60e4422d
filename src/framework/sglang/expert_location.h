// SPDX-License-Identifier: Apache-2.0
// ExpertLocationMetadata (srt/eplb/expert_location.py): which copy of an expert lies where, for
// every layer, on the device from before the model is loaded, whether experts move or not. Its
// largest table grows with the square of the experts.
#pragma once

#include <vector>

#include "framework/vllm/ops.h"
#include "model/config.h"

namespace memtape::sglang {

/// The tables of an architecture that has them, each expert once (init_trivial); none for others.
std::vector<vllm::Tensor> locate_experts(const Config& config);

}  // namespace memtape::sglang
