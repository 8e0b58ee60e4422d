// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/moe_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "framework/megatron/router.h"

namespace memtape::megatron {
namespace {

/// --moe-layer-freq: N for one in N, or a list such as ([0]*3+[1]*12).
Result<std::vector<bool>> expert_layers(std::string text, std::int64_t layers) {
  std::vector<bool> found;
  if (text.find('[') == std::string::npos) {
    const std::int64_t every = std::max<std::int64_t>(1, std::atoll(text.c_str()));
    for (std::int64_t i = 0; i < layers; ++i) found.push_back(i % every == 0);
    return found;
  }
  for (std::size_t at = 0; (at = text.find('[', at)) != std::string::npos;) {
    const std::size_t end = text.find(']', at);
    if (end == std::string::npos) break;
    std::vector<bool> group;
    for (const char c : text.substr(at, end - at))
      if (c == '0' || c == '1') group.push_back(c == '1');
    at = end + 1;
    std::int64_t times = 1;
    if (at < text.size() && text[at] == '*')
      times = std::min<std::int64_t>(std::atoll(text.c_str() + at + 1), layers);
    for (std::int64_t i = 0; i < times; ++i) found.insert(found.end(), group.begin(), group.end());
  }
  if (static_cast<std::int64_t>(found.size()) != layers)
    return bad_input(fmt::format("\"{}\" names {} layers", text, found.size()), "--moe-layer-freq",
                     fmt::format("--num-layers is {}", layers));
  return found;
}

}  // namespace

std::int64_t MoeArguments::capacity(std::int64_t tokens) const {
  const double share = static_cast<double>(tokens * topk) / static_cast<double>(num_experts);
  return static_cast<std::int64_t>(std::ceil(share * *capacity_factor));
}

Result<MoeArguments> read_moe(const Config& c, std::int64_t layers, std::int64_t ffn_hidden_size) {
  MoeArguments moe;
  moe.num_experts = c.count("num_experts", 0);
  moe.layers.assign(static_cast<std::size_t>(layers), false);
  if (moe.num_experts == 0) return moe;
  moe.ffn_hidden_size = c.dimension("moe_ffn_hidden_size", ffn_hidden_size);
  moe.topk = c.dimension("moe_router_topk", 2);
  moe.shared_expert_size = c.count("moe_shared_expert_intermediate_size", 0);
  moe.shared_gate = c.boolean("moe_shared_expert_gate", false);
  moe.shared_overlap = moe.shared_expert_size > 0 && c.boolean("moe_shared_expert_overlap", false);
  moe.gathers_tokens = c.text("moe_token_dispatcher_type", "allgather") == "allgather";
  moe.grouped_gemm = c.boolean("moe_grouped_gemm", false);
  moe.permute_fusion = c.boolean("moe_permute_fusion", false);
  moe.fused_squared_relu = c.boolean("use_fused_weighted_squared_relu", false);
  moe.capacity_factor = c.optional_number("moe_expert_capacity_factor");
  moe.pads_to_capacity = c.boolean("moe_pad_expert_input_to_capacity", false);
  moe.router = read_router(c);
  if (moe.topk > moe.num_experts)
    return bad_input(fmt::format("{} of {} experts", moe.topk, moe.num_experts),
                     "--moe-router-topk", fmt::format("at most {}", moe.num_experts));
  const double most = static_cast<double>(moe.num_experts) / static_cast<double>(moe.topk);
  if (const double factor = moe.capacity_factor.value_or(0.0);
      moe.pads_to_capacity && factor > most)
    return bad_input(
        fmt::format("{} pads each expert to more tokens than there are", factor),
        "--moe-expert-capacity-factor",
        fmt::format("at most {} for {} of {} experts", most, moe.topk, moe.num_experts));
  if (const auto [groups, chosen] = std::pair(moe.router.groups, moe.router.group_topk);
      chosen > 0 && (groups < chosen || moe.num_experts % groups != 0))
    return bad_input(fmt::format("{} of {} groups of {} experts", chosen, groups, moe.num_experts),
                     "--moe-router-num-groups", "groups of equal size, enough of them");
  Result<std::vector<bool>> found = expert_layers(c.text("moe_layer_freq", "1"), layers);
  if (!found) return tl::unexpected(found.error());
  moe.layers = std::move(*found);
  return moe;
}

}  // namespace memtape::megatron
