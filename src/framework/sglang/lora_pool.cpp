// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/lora_pool.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "framework/vllm/ops.h"

namespace memtape::sglang {
namespace {

/// params_mapping of get_normalized_target_modules (srt/lora/utils.py).
std::string fused(std::string_view module) {
  constexpr auto kFused =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"q_proj", "qkv_proj"},
                                                                    {"k_proj", "qkv_proj"},
                                                                    {"v_proj", "qkv_proj"},
                                                                    {"gate_proj", "gate_up_proj"},
                                                                    {"up_proj", "gate_up_proj"}});
  for (const auto& [theirs, ours] : kFused)
    if (module == theirs) return std::string(ours);
  return std::string(module);
}

std::vector<std::string> modules_in(std::string_view text) {
  std::vector<std::string> modules;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" ,");
    const std::string name = fused(text.substr(0, end));
    if (!name.empty() && std::ranges::find(modules, name) == modules.end()) modules.push_back(name);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return modules;
}

bool is_adapted(const vllm::LoraSite& site, const std::vector<std::string>& modules) {
  constexpr auto kUsual =
      std::to_array<std::string_view>({"qkv_proj", "o_proj", "gate_up_proj", "down_proj"});
  if (modules.empty()) return std::ranges::find(kUsual, site.module) != kUsual.end();
  return std::ranges::any_of(
      modules, [&](const std::string& name) { return name == "all" || name == site.module; });
}

}  // namespace

/// check_lora_server_args (srt/arg_groups/lora_hook.py).
Result<std::optional<LoraPool>> lora_pool_of(const ServeOptions& options,
                                             std::vector<std::string>& warnings) {
  const bool has_paths = options.has("lora-paths");
  if (!options.has("enable-lora") && !has_paths) return std::nullopt;
  const bool says_modules = options.has("lora-target-modules");
  if (!has_paths && (!options.has("max-lora-rank") || !says_modules))
    return bad_input("SGLang wants --max-lora-rank and --lora-target-modules without --lora-paths",
                     "--enable-lora", "add them");
  const auto adapters = options.integer("max-loras-per-batch", 8, {1, 4096});
  if (!adapters) return tl::unexpected(adapters.error());
  const auto rank = options.integer("max-lora-rank", 1, {1, 4096});
  if (!rank) return tl::unexpected(rank.error());
  if (!options.has("max-lora-rank")) {
    warnings.emplace_back(
        "what the adapters of --lora-paths take of the cache depends on their rank: "
        "--max-lora-rank and --lora-target-modules say it, and it is not counted");
    return std::nullopt;
  }
  if (!says_modules)
    warnings.emplace_back(
        "the adapters of --lora-paths are taken to change all layers of attention and MLP: "
        "--lora-target-modules says otherwise");
  return LoraPool{*adapters, *rank, modules_in(options.text("lora-target-modules", ""))};
}

std::vector<ghost::Tensor> make_lora_pool(const std::vector<vllm::LoraSite>& sites,
                                          const LoraPool& pool, DType dtype) {
  std::vector<ghost::Tensor> kept;
  for (const vllm::LoraSite& site : sites) {
    if (!is_adapted(site, pool.modules)) continue;
    const auto slices = static_cast<std::int64_t>(site.outs.size());
    std::int64_t out = 0;
    for (const std::int64_t one : site.outs) out += one;
    kept.push_back(vllm::kernel_output(
        "zeros", {pool.adapters, site.experts, pool.rank * slices, site.in}, dtype));
    kept.push_back(
        vllm::kernel_output("zeros", {pool.adapters, site.experts, out, pool.rank}, dtype));
  }
  return kept;
}

}  // namespace memtape::sglang
