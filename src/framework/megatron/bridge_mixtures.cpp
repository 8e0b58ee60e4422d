// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/bridge_mixtures.h"

#include <algorithm>
#include <array>

namespace memtape::megatron {
namespace {

constexpr auto kMixtures = std::to_array<BridgeMixture>({
    {.family = "mixtral",
     .experts = {"num_local_experts", 8},
     .topk = {"num_experts_per_tok", 2},
     .pre_softmax = true},
    {.family = "qwen3_moe",
     .experts = {"num_experts"},
     .topk = {"num_experts_per_tok", 8},
     .width = "moe_intermediate_size",
     .balance = "aux_loss",
     .balance_coefficient = 1e-3},
    {.family = "deepseek_v3",
     .experts = {"n_routed_experts"},
     .topk = {"num_experts_per_tok", 8},
     .width = "moe_intermediate_size",
     .shared = {"n_shared_experts", 1},
     .dense_first = {"first_k_dense_replace", 3},
     .latent = true,
     .balance = "seq_aux_loss",
     .balance_coefficient = 1e-4,
     .pre_softmax = true,
     .sigmoid = true,
     .corrects = true,
     .float32_router = true,
     .te_loss = true,
     .predicts_further = true},
    {.family = "kimi_k2",
     .experts = {"n_routed_experts"},
     .topk = {"num_experts_per_tok", 8},
     .width = "moe_intermediate_size",
     .shared = {"n_shared_experts", 1},
     .dense_first = {"first_k_dense_replace", 1},
     .latent = true,
     .balance = "seq_aux_loss",
     .balance_coefficient = 1e-3,
     .pre_softmax = true,
     .sigmoid = true,
     .corrects = true,
     .float32_router = true,
     .te_loss = true,
     .predicts_further = true},
    {.family = "deepseek_v2",
     .experts = {"n_routed_experts"},
     .topk = {"num_experts_per_tok", 6},
     .width = "moe_intermediate_size",
     .shared = {"n_shared_experts", 2},
     .dense_first = {"first_k_dense_replace", 1},
     .latent = true,
     .balance = "seq_aux_loss",
     .balance_coefficient = 1e-3,
     .pre_softmax = true,
     .float32_router = true,
     .te_loss = true},
    {.family = "glm4_moe",
     .experts = {"n_routed_experts"},
     .topk = {"num_experts_per_tok", 8},
     .width = "moe_intermediate_size",
     .shared = {"n_shared_experts", 1},
     .dense_first = {"first_k_dense_replace", 1},
     .balance = "seq_aux_loss",
     .balance_coefficient = 1e-3,
     .sigmoid = true,
     .corrects = true,
     .float32_router = true,
     .predicts_further = true},
    {.family = "glm4_moe_lite",
     .experts = {"n_routed_experts"},
     .topk = {"num_experts_per_tok", 4},
     .width = "moe_intermediate_size",
     .shared = {"n_shared_experts", 1},
     .dense_first = {"first_k_dense_replace", 1},
     .latent = true,
     .balance = "seq_aux_loss",
     .balance_coefficient = 1e-3,
     .pre_softmax = true,
     .sigmoid = true,
     .corrects = true,
     .float32_router = true,
     .predicts_further = true},
    {.family = "gpt_oss", .experts = {"num_local_experts"}, .topk = {"num_experts_per_tok", 4}},
    {.family = "ernie4_5_moe",
     .experts = {"moe_num_experts"},
     .topk = {"moe_k", 6},
     .width = "moe_intermediate_size",
     .shared = {"moe_num_shared_experts", 2},
     .dense_first = {"moe_layer_start_index", 1},
     .balance = "aux_loss",
     .balance_coefficient = 1e-3,
     .sigmoid = true,
     .corrects = true,
     .float32_router = true},
});

}  // namespace

std::span<const BridgeMixture> bridge_mixtures() { return kMixtures; }

const BridgeMixture* bridge_mixture(std::string_view family) {
  const auto found = std::ranges::find(kMixtures, family, &BridgeMixture::family);
  return found == kMixtures.end() ? nullptr : &*found;
}

}  // namespace memtape::megatron
