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

inline constexpr Change kVllmAlternatesWindows{
    Package::vllm,
    {0, 6, 5},
    "Gemma 2 serves its whole length; before, its window is switched off and its length cut to it.",
    "vllm/config.py:ModelConfig.__init__ (has_interleaved_attention)"};

inline constexpr Change kVllmSumsWithOwnKernel{
    Package::vllm,
    {0, 4, 1},
    "Ranks of tensor parallelism sum with a kernel of vLLM's own where links allow it; before, by "
    "NCCL (0.3.0 tried its own kernel, which 0.3.1 switched off).",
    "vllm/config.py:ParallelConfig._verify_args"};

}  // namespace memtape::changes
