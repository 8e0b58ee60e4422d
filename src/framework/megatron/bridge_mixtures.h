// SPDX-License-Identifier: Apache-2.0
// The mixtures of experts that Megatron-Bridge knows: by which names their configurations count
// experts, and what their providers fill in (megatron/bridge/models/*/*_bridge.py of 0.6.2).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace memtape::megatron {

/// How a configuration counts something: its key and what holds without it.
struct CountedBy {
  std::string_view key;
  std::int64_t otherwise = 0;
};

struct BridgeMixture {
  std::string_view family;
  CountedBy experts = {}, topk = {};
  std::string_view width = {};  ///< the key of an expert's width; "": that of an MLP
  CountedBy shared = {};        ///< experts that all tokens share, each as wide as another one
  CountedBy dense_first = {};   ///< the layers before the first one of experts
  bool latent = false;          ///< multi-latent attention
  // What the provider sets.
  std::string_view balance = "none";  ///< moe_router_load_balancing_type
  double balance_coefficient = 0;     ///< moe_aux_loss_coeff
  bool pre_softmax = false, sigmoid = false;
  bool corrects = false;          ///< moe_router_enable_expert_bias
  bool float32_router = false;    ///< moe_router_dtype
  bool te_loss = false;           ///< Transformer Engine's cross entropy
  bool predicts_further = false;  ///< mtp_num_layers are num_nextn_predict_layers
};

std::span<const BridgeMixture> bridge_mixtures();
/// Null for a family without experts there.
const BridgeMixture* bridge_mixture(std::string_view family);

}  // namespace memtape::megatron
