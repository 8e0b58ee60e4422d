// SPDX-License-Identifier: Apache-2.0
// Which GPUs multiply numbers of 8 and 4 bits.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ghost/session.h"
#include "workload/step_choices.h"

namespace memtape::torch {

/// An error where a device was named that has no such products: check_fp8_support,
/// check_mxfp8_support and check_nvfp4_support of Transformer Engine (pytorch/quantization.py), and
/// torchtitan's Float8LinearConverter and MXLinearConverter (components/quantization).
Result<void> check_low_bits(LowBits bits, const ghost::DeviceTraits& device,
                            std::string_view option);

}  // namespace memtape::torch
