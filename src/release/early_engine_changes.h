// SPDX-License-Identifier: Apache-2.0
// What changed in vLLM's V1 engine while VLLM_USE_V1=1 had to ask for it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kVllmV1ProfilesRequests{
    Package::vllm,
    {0, 7, 3},
    "The V1 engine's profile run makes the logits of as many requests as there may be; before, of "
    "all tokens of the step.",
    "vllm/v1/worker/gpu_model_runner.py:GPUModelRunner.profile_run, logit_indices"};

inline constexpr Change kVllmV1Samples{
    Package::vllm,
    {0, 8, 0},
    "The V1 engine's profile run samples; before, it ended with the logits.",
    "vllm/v1/worker/gpu_model_runner.py:GPUModelRunner.profile_run"};

}  // namespace memtape::changes
