// SPDX-License-Identifier: Apache-2.0
// DsConfig: the part of a ds_config.json that affects memory, under its own names and with its own
// defaults (deepspeed/runtime/config.py, zero/config.py, precision_config.py of DeepSpeed 0.19).
// "auto" is filled in as HF Trainer does (transformers/integrations/deepspeed.py).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "base/result.h"
#include "model/config.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::deepspeed {

/// The member "zero_optimization". Its sizes are numbers of elements.
struct ZeroConfig {
  int stage = 0;
  bool contiguous_gradients = true, reduce_scatter = true, overlap_comm = false;
  bool use_multi_rank_bucket_allreduce = true;
  bool round_robin_gradients = false, parameter_alignment = false, compute_grad_norm = true;
  std::int64_t reduce_bucket_size = 500'000'000;
  std::int64_t prefetch_bucket_size = 50'000'000;
  std::int64_t param_persistence_threshold = 100'000;
  std::int64_t model_persistence_threshold = 0;
  std::int64_t max_live_parameters = 1'000'000'000, max_reuse_distance = 1'000'000'000;
  std::int64_t sub_group_size = 1'000'000'000;
  bool allgather_sequential = false, use_all_reduce_for_fetch_params = false;
  bool memory_efficient_linear = true;
  bool offload_optimizer = false, offload_param = false;
  /// The ranks of a group that holds the parameters once more.
  std::int64_t hpz_partition_size = 1;
};

/// The member "optimizer", which DeepSpeed makes itself.
struct ConfiguredOptimizer {
  enum class Kind { torch, fused_adam, cpu_adam };
  Kind kind = Kind::torch;
  OptimizerName name = OptimizerName::adamw;  ///< one of torch's
  OptimizerImpl impl = OptimizerImpl::foreach;
};

class ZeroInit;

struct DsConfig {
  ZeroConfig zero;
  DType model_dtype = DType::float32;
  DType grad_accum_dtype = DType::float32;
  DType communication_data_type = DType::float32;
  double gradient_clipping = 1.0;
  bool check_grad_overflow = false;
  bool scales_loss = false;  ///< float16 with a loss scale other than 1
  bool immediate_grad_update = false;
  /// The zero.Init under which the model and its parameters were made, or null. It gives buffers
  /// its dtype, too.
  std::shared_ptr<ZeroInit> zero_init;
  /// Adapters that were added to such a model were cast to float32 (peft's autocast_adapter_dtype)
  /// and stay so.
  bool has_float32_adapters = false;
  bool packed_sequences = true;  ///< memtape's own key: each row holds several sequences
  /// Memtape's own key: `zero_init` is that of a program's own context.
  bool makes_under_zero_init = false;
  std::optional<ConfiguredOptimizer> optimizer;

  bool partitions_gradients() const { return zero.stage >= 2; }
  /// _do_optimizer_sanity_check: it is used by ZeRO 1 with float32 gradients of a bfloat16 model.
  bool uses_bf16_optimizer() const {
    return zero.stage == 1 && model_dtype == DType::bfloat16 &&
           grad_accum_dtype == DType::float32 && !zero.offload_optimizer;
  }
};

/// What replaces sizes that are "auto": Trainer's numbers, or DeepSpeed's own defaults if a model
/// is prepared before Trainer fills them in.
enum class AutoSizes { filled_in, left_out };
Result<DsConfig> read_ds_config(const Config& model, const TrainRecipe& recipe,
                                AutoSizes sizes = AutoSizes::filled_in);

/// The recipe with the batch that the ds_config names.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::deepspeed
