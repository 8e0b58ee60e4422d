// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/kernel_notes.h"

#include <algorithm>
#include <optional>

#include "framework/vllm/refusals.h"

namespace memtape::vllm {
namespace {

/// Columns of a group of integer weights that are multiplied as 16-bit ones, -1 for whole columns;
/// nothing for other checkpoints.
std::optional<std::int64_t> weight_only_group(const Config& c) {
  const std::string method = c.text("quant_method", "");
  if (method == "awq" || method == "gptq" || method.find("auto-round") != std::string::npos)
    return c.integer({"group_size", "q_group_size"}, 128);
  if (method != "compressed-tensors") return std::nullopt;
  const Config groups = c.object("config_groups");
  const std::vector<std::string> names = groups.keys();
  if (names.empty()) return std::nullopt;
  const Config group = groups.object(names.front());
  const Config weights = group.object("weights");
  if (!group.is_null("input_activations") || weights.text("type", "int") != "int")
    return std::nullopt;
  return weights.optional_integer("group_size").value_or(-1);
}

/// MarlinLinearKernel.can_implement and check_moe_marlin_supports_config: groups may not straddle
/// ranks, and experts read whole tiles.
bool marlin_refuses(const Config& config, const Settings& s, std::int64_t group) {
  constexpr std::int64_t kTile = 128;
  if (has_experts(config) && config.integer({"hidden_size", "n_embd"}, kTile) % kTile != 0)
    return true;
  if (group <= 0) return false;
  const auto straddles = [&](const char* key) {
    const std::optional<std::int64_t> width = config.optional_integer(key);
    return width && *width % s.parallel.tp == 0 && *width / s.parallel.tp % group != 0;
  };
  return straddles("intermediate_size") || straddles("moe_intermediate_size");
}

}  // namespace

void warn_of_kernels(const Config& config, const Settings& s, std::vector<std::string>& warnings) {
  if (config.is_null("quantization_config")) return;
  const Config scheme = config.object("quantization_config");
  if (const auto group = weight_only_group(scheme)) {
    const bool prefers_humming = s.device.is(9, 0) && has_experts(config);
    if (prefers_humming)
      warnings.push_back(
          "vLLM runs these experts with Humming's kernels on Hopper: they are "
          "answered as Marlin's");
    else if (marlin_refuses(config, s, *group))
      warnings.push_back(
          "layers that Marlin's kernels do not take run with Humming's in vLLM: they "
          "are answered as Marlin's");
  }
  const std::string method = scheme.text("quant_method", "");
  const bool in_4_bits = method == "mxfp4" || scheme.text("quant_algo", "").ends_with("NVFP4");
  if (s.parallel.dp > 1 && has_experts(config) && in_4_bits)
    warnings.push_back("how data ranks gather tokens for experts of 4-bit floats is not modelled");
}

}  // namespace memtape::vllm
