// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/expert_location.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memtape::sglang {
namespace {

using vllm::kernel_output;
using vllm::Tensor;

struct Row {
  std::string_view architecture;
  const char* experts;  ///< the configuration's name for how many there are
};

/// Models with get_model_config_for_expert_location, of the architectures known here.
constexpr std::array kRows{
    Row{"Qwen2MoeForCausalLM", "num_experts"},
    Row{"Qwen3MoeForCausalLM", "num_experts"},
    Row{"Qwen3NextForCausalLM", "num_experts"},
    Row{"Qwen3_5ForCausalLM", "num_experts"},
    Row{"Qwen3_5MoeForCausalLM", "num_experts"},
    Row{"DeepseekV2ForCausalLM", "n_routed_experts"},
    Row{"DeepseekV3ForCausalLM", "n_routed_experts"},
    Row{"DeepseekV32ForCausalLM", "n_routed_experts"},
    Row{"GlmMoeDsaForCausalLM", "n_routed_experts"},
    Row{"Glm4MoeForCausalLM", "n_routed_experts"},
    Row{"GptOssForCausalLM", "num_local_experts"},
    Row{"MiniMaxM2ForCausalLM", "num_local_experts"},
};

std::int64_t located_experts(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  for (const Row& row : kRows)
    if (std::ranges::find(names, row.architecture) != names.end())
      return config.optional_integer(row.experts).value_or(0);
  return 0;
}

}  // namespace

std::vector<Tensor> locate_experts(const Config& config) {
  const std::int64_t experts = located_experts(config);
  if (experts == 0) return {};
  const std::int64_t layers = config.dimension("num_hidden_layers");
  const auto table = [](const char* op, const ghost::Dims& sizes) {
    return kernel_output(op, sizes, DType::int64);
  };
  const Tensor physical_to_logical = table("to", {layers, experts});
  const Tensor logical_to_physical = table("tensor", {layers, experts, 1});
  const Tensor padded = table("pad", {layers, experts, experts});
  const Tensor valid = kernel_output("ne", {layers, experts, 1}, DType::boolean);
  const Tensor nonzero = kernel_output("ne", {layers, experts, 1}, DType::boolean);
  return {physical_to_logical, padded, table("sum", {layers, experts})};
}

}  // namespace memtape::sglang
