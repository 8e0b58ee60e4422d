// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/attention_backend.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::vllm {
namespace {

struct Backend {
  std::string_view name;
  bool of_latents = false;  ///< reads a latent cache (MLA), or keys and values
  bool is_modelled = false;
  /// Made with the first batch, so that the profile run has not seen it: flashinfer.py,
  /// _get_workspace_buffer, of VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE.
  Bytes workspace = 0;
};

constexpr auto kBackends = std::to_array<Backend>({
    {.name = "FLASH_ATTN", .is_modelled = true},
    {.name = "FLASHINFER", .is_modelled = true, .workspace = 394_MiB},
    {.name = "TRITON_ATTN"},
    {.name = "FLEX_ATTENTION"},
    {.name = "TREE_ATTN"},
    {.name = "FLASH_ATTN_MLA", .of_latents = true},
    {.name = "FLASHINFER_MLA", .of_latents = true},
    {.name = "FLASHMLA", .of_latents = true},
    {.name = "CUTLASS_MLA", .of_latents = true},
    {.name = "TRITON_MLA", .of_latents = true},
});

}  // namespace

Result<void> read_attention_backend(const ServeOptions& options, const Config& config, Settings& s,
                                    std::vector<std::string>& warnings) {
  constexpr const char* kFlag = "--attention-backend";
  std::string asked = options.text("attention-backend", "");
  if (asked.empty()) return {};
  std::ranges::transform(asked, asked.begin(), [](unsigned char c) { return std::toupper(c); });
  const bool has_latents = config.has("kv_lora_rank");
  std::vector<std::string_view> names;
  for (const Backend& backend : kBackends)
    if (backend.of_latents == has_latents) names.push_back(backend.name);
  const auto found = std::ranges::find(kBackends, asked, &Backend::name);
  if (found == kBackends.end())
    return bad_input(fmt::format("vLLM has no attention backend {} for CUDA", asked), kFlag,
                     fmt::format("{}", fmt::join(names, ", ")));
  if (found->of_latents != has_latents)
    return bad_input(fmt::format("{} reads {}, and this model has the other", asked,
                                 found->of_latents ? "a cache of latents" : "keys and values"),
                     kFlag, fmt::format("{}", fmt::join(names, ", ")));
  s.attention_workspace = found->workspace;
  if (!found->is_modelled)
    warnings.push_back(
        fmt::format("{} {}: what its kernels hold beside the cache is not modelled", kFlag, asked));
  return {};
}

}  // namespace memtape::vllm
