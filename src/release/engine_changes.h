// SPDX-License-Identifier: Apache-2.0
// What changed between releases of the inference engines vLLM and SGLang, as far as it affects
// memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kVllmEngineIsV1{
    Package::vllm,
    {0, 8, 0},
    "The V1 engine runs unless VLLM_USE_V1=0 asks for the V0 engine; before, the V0 engine, whose "
    "batch is a whole prompt and whose graphs are not counted.",
    "vllm/envs.py:VLLM_USE_V1"};

inline constexpr Change kVllmRunsDenseModelsOnV2{
    Package::vllm,
    {0, 25, 1},
    "Models without experts run on the second model runner.",
    "vllm/config/vllm.py:VllmConfig.use_v2_model_runner"};

inline constexpr Change kVllmRunsAllModelsOnV2{
    Package::vllm,
    {0, 29, 0},
    "All models run on the second model runner.",
    "vllm/config/vllm.py:VllmConfig.use_v2_model_runner"};

inline constexpr Change kVllmWorkerCountsTheDevice{
    Package::vllm,
    {0, 29, 0},
    "The worker counts what the device has less of, 92 % of a GPU is taken, and the sampler masks "
    "logits in place; before, the worker counted torch's peak, and 90 % was taken.",
    "vllm/v1/worker/gpu_worker.py, vllm/config/cache.py"};

inline constexpr Change kVllmServesNoOrderOfActivations{
    Package::vllm,
    {0, 32, 0},
    "GPTQ checkpoints with groups in the order of their activations are refused.",
    "model_executor/layers/quantization/utils/gptq_utils.py:normalize_and_validate_gptq_desc_act"};

inline constexpr Change kSglangReservesByDevice{
    Package::sglang,
    {0, 4, 8},
    "mem_fraction_static leaves a reserve by the device's memory, and beside a vision tower more "
    "the larger the tower is; before, a table by the number of tensor ranks, and 95 % of it.",
    "srt/server_args.py"};

inline constexpr Change kSglangLocatesExperts{
    Package::sglang,
    {0, 4, 8},
    "Every rank holds maps of where experts lie. They are not in 0.4.5 and are in 0.5.2.",
    "srt/eplb/expert_location.py"};

inline constexpr Change kSglangReservesByUse{
    Package::sglang,
    {0, 5, 3},
    "The reserve is the sum of what a chunk, graphs and ranks take.",
    "srt/server_args.py"};

inline constexpr Change kSglangExtendsRopes{
    Package::sglang,
    {0, 5, 3},
    "Caches of rotary embeddings are extended for the longest context. They are not in 0.5.2 and "
    "are in 0.5.9.",
    "srt/model_executor/model_runner.py"};

inline constexpr Change kSglangReservesForPrefillGraphs{
    Package::sglang,
    {0, 5, 10},
    "The reserve counts the graphs of prefill, too.",
    "srt/server_args.py"};

inline constexpr Change kSglangFillsSmallDevices{
    Package::sglang,
    {0, 5, 14},
    "Devices with 20 to 35 GiB have larger chunks and graphs, graphs are no larger than "
    "--max-running-requests, and the reserve leaves out graphs that are not captured.",
    "srt/arg_groups/memory_hook.py"};

inline constexpr Change kSglangTracksStates{
    Package::sglang,
    {0, 5, 14},
    "A request has two more slots of recurrent states (extra_buffer) in models that take them.",
    "srt/server_args.py"};

}  // namespace memtape::changes
