// SPDX-License-Identifier: Apache-2.0
// The numbers of fewer than 16 bits in which Transformer Engine multiplies: --fp8-format and
// --fp4-format with their recipes (TransformerConfig).
#pragma once

#include "framework/megatron/arguments.h"
#include "model/config.h"

namespace memtape::megatron {

/// attention.py (Megatron Core 0.16) has linear_proj save its original input under all recipes but
/// delayed scaling.
void read_low_bits(const Config& c, Arguments& a);

}  // namespace memtape::megatron
