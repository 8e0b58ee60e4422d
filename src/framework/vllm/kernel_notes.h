// SPDX-License-Identifier: Apache-2.0
// Where vLLM chooses kernels that are not modelled and the answer is that of others: Humming's in
// the place of Marlin's (quantization/utils/humming/priority.py), and experts of 4-bit floats that
// data ranks share. The weights are of the same size either way; scratch and steps may differ.
#pragma once

#include <string>
#include <vector>

#include "framework/vllm/settings.h"
#include "model/config.h"

namespace memtape::vllm {

void warn_of_kernels(const Config& config, const Settings& settings,
                     std::vector<std::string>& warnings);

}  // namespace memtape::vllm
