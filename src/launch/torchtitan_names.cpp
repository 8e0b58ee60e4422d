// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_names.h"

#include <array>

namespace memtape::launch {
namespace {

/// Flavors by model (models/*/__init__.py) and what they are on the hub.
constexpr auto kFlavors = std::to_array<TitanFlavor>({
    {"llama3", "1B", "meta-llama/Llama-3.2-1B"},
    {"llama3", "3B", "meta-llama/Llama-3.2-3B"},
    {"llama3", "8B", "meta-llama/Llama-3.1-8B"},
    {"llama3", "70B", "meta-llama/Llama-3.1-70B"},
    {"llama3", "405B", "meta-llama/Llama-3.1-405B"},
    {"llama2", "7B", "meta-llama/Llama-2-7b-hf"},
    {"llama2", "13B", "meta-llama/Llama-2-13b-hf"},
    {"llama2", "70B", "meta-llama/Llama-2-70b-hf"},
    {"qwen3", "0.6B", "Qwen/Qwen3-0.6B"},
    {"qwen3", "1.7B", "Qwen/Qwen3-1.7B"},
    {"qwen3", "4B", "Qwen/Qwen3-4B"},
    {"qwen3", "8B", "Qwen/Qwen3-8B"},
    {"qwen3", "14B", "Qwen/Qwen3-14B"},
    {"qwen3", "32B", "Qwen/Qwen3-32B"},
    {"qwen3", "30B-A3B", "Qwen/Qwen3-30B-A3B"},
    {"qwen3", "235B-A22B", "Qwen/Qwen3-235B-A22B"},
    {"deepseek_v3", "16B", "deepseek-ai/DeepSeek-V2-Lite"},
    {"deepseek_v3", "236B", "deepseek-ai/DeepSeek-V2"},
    {"deepseek_v3", "671B", "deepseek-ai/DeepSeek-V3"},
    {"llama4", "17bx16e", "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
    {"llama4", "17bx128e", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"},
});

constexpr auto kMembers = std::to_array<TitanMember>({
    {"activation_checkpoint", "selective_ac_option"},
    {"training", "mixed_precision_param"},
    {"training", "mixed_precision_reduce"},
    {"parallelism", "fsdp_reshard_after_forward"},
    {"parallelism", "context_parallel_rotate_method"},
    {"parallelism", "pipeline_parallel_schedule"},
    {"parallelism", "pipeline_parallel_microbatch_size", RowKind::whole},
    {"parallelism", "pipeline_parallel_layers_per_stage", RowKind::whole},
    {"parallelism", "pipeline_parallel_first_stage_less_layers", RowKind::whole},
    {"parallelism", "pipeline_parallel_last_stage_less_layers", RowKind::whole},
    {"parallelism", "data_parallel_replicate_degree", RowKind::whole},
    {"optimizer", "early_step_in_backward", RowKind::on_alone},
    {"activation_checkpoint", "early_stop", RowKind::truth},
    {"training", "enable_cpu_offload", RowKind::on_alone},
    {"parallelism", "disable_loss_parallel", RowKind::on_alone},
});

constexpr auto kMeshSizes = std::to_array<TitanSize>({{"tp", "tensor_parallel_degree"},
                                                      {"pp", "pipeline_parallel_degree"},
                                                      {"cp", "context_parallel_degree"},
                                                      {"ep", "expert_parallel_degree"},
                                                      {"etp", "expert_tensor_parallel_degree"}});

}  // namespace

std::span<const TitanFlavor> torchtitan_flavors() { return kFlavors; }

std::span<const TitanMember> torchtitan_members() { return kMembers; }
std::span<const TitanSize> torchtitan_sizes() { return kMeshSizes; }

}  // namespace memtape::launch
