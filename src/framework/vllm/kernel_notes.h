// SPDX-License-Identifier: Apache-2.0
// Names the cases in which vLLM chooses kernels that are not modelled, so that the answer is that
// of other kernels: Humming's kernels in place of Marlin's
// (quantization/utils/humming/priority.py), and experts of 4-bit floats that data ranks share. The
// weights have the same size in both cases; scratch memory and steps may differ.
#pragma once

#include <string>
#include <vector>

#include "framework/vllm/settings.h"
#include "model/config.h"

namespace memtape::vllm {

void warn_of_kernels(const Config& config, const Settings& settings,
                     std::vector<std::string>& warnings);

}  // namespace memtape::vllm
