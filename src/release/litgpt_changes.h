// SPDX-License-Identifier: Apache-2.0
// What changed between releases of litgpt, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kLitgptAsksForRecentBitsandbytes{
    Package::litgpt,
    {0, 5, 0},
    "litgpt asks for bitsandbytes 0.43.2 or later, whose 4-bit products keep no inputs, and its "
    "quantized models hold the embedding as it is.",
    "pyproject.toml and litgpt/finetune/lora.py of 0.4.13 and 0.5.0"};

inline constexpr Change kLitgptTakesSamplesAsTheyCome{
    Package::litgpt,
    {0, 4, 0},
    "Samples come as a loader shuffles them; before, the first iteration took the longest one, and "
    "no iteration before it holds anything at the peak.",
    "finetune/lora.py:train of commit 8641822 (longest_seq_ix)"};

}  // namespace memtape::changes
