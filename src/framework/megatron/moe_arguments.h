// SPDX-License-Identifier: Apache-2.0
// MoeArguments: what --num-experts and the arguments that begin with --moe- say, under the names of
// the fields moe_* of TransformerConfig (megatron/core/transformer/transformer_config.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "model/config.h"
#include "model/expert_load.h"

namespace memtape::megatron {

/// The losses that a router adds. Each is logged separately.
enum class LossKind { per_batch, per_sequence, global, z };
inline constexpr std::size_t kLossKinds = 4;

/// --moe-router-load-balancing-type, with coefficients that are not 0.
struct AuxLosses {
  bool per_batch = false, per_sequence = false, global = false, z = false;
  bool any() const { return per_batch || per_sequence || global; }
};

struct RouterArguments {
  std::optional<DType> dtype;  ///< --moe-router-dtype; not set: the dtype of the tokens
  bool sinkhorn = false, sigmoid = false, pre_softmax = false, expert_bias = false, fused = false;
  std::int64_t groups = 0, group_topk = 0;  ///< 0: experts are chosen from all of them
  bool scales = false;                      ///< --moe-router-topk-scaling-factor
  AuxLosses losses;
};

struct MoeArguments {
  std::int64_t num_experts = 0;  ///< 0: every layer is dense
  std::int64_t ffn_hidden_size = 0, topk = 2, shared_expert_size = 0;
  std::vector<bool> layers;     ///< whether layer i has experts
  bool gathers_tokens = false;  ///< the dispatcher is "allgather"
  bool grouped_gemm = false, shared_gate = false, shared_overlap = false, permute_fusion = false;
  bool fused_squared_relu = false;  ///< --use-fused-weighted-squared-relu
  std::optional<double> capacity_factor;
  bool pads_to_capacity = false;
  RouterArguments router;
  ExpertLoad load;

  /// get_capacity: the most of `tokens` tokens that one expert takes. There must be a capacity
  /// factor.
  std::int64_t capacity(std::int64_t tokens) const;
};

/// Reads them for a model with `layers` layers, whose MLPs are `ffn_hidden_size` wide.
Result<MoeArguments> read_moe(const Config& config, std::int64_t layers,
                              std::int64_t ffn_hidden_size);

}  // namespace memtape::megatron
