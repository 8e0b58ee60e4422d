// SPDX-License-Identifier: Apache-2.0
// Strategy: what --strategy says for a model of transformers: sizes and switches under short names
// of memtape's own, the options of DistributedDataParallelConfig, and arguments of Megatron-LM under
// the names of argparse's attributes (megatron/training/arguments.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/megatron/attributes.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

/// DistributedDataParallelConfig (core/distributed/distributed_data_parallel_config.py).
struct DdpStrategy {
  std::optional<bool> use_distributed_optimizer;
  bool overlap_grad_reduce = false, overlap_param_gather = false, grad_reduce_in_fp32 = true;
  bool pad_buckets_for_high_nccl_busbw = false;
  std::optional<std::int64_t> bucket_size;
};

/// A member that is not set follows from the recipe or from the model.
struct Strategy {
  std::optional<std::int64_t> tp, pp, vp, cp, ep, etp;
  std::optional<bool> sp;
  std::optional<std::int64_t> experts, topk;  ///< a dense model's layers become experts
  std::optional<double> capacity_factor;
  std::optional<std::string> recompute;  ///< the granularity; "": none
  std::string recompute_method = "uniform";
  std::int64_t recompute_num_layers = 1;
  std::optional<std::vector<std::string>> recompute_modules;
  std::optional<bool> ce_fusion, tie;
  bool swiglu_fusion = true;
  DdpStrategy ddp;
  // These are arguments of Megatron-LM that decide more than its own model.
  std::optional<std::string> transformer_impl, fp8, fp8_recipe, fp4, moe_token_dispatcher_type;
  Attributes arguments;  ///< the arguments of Megatron-LM, which are handed on as they are
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);

const Strategy& strategy_of(const TrainRecipe& recipe);

}  // namespace memtape::megatron
