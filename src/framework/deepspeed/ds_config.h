// SPDX-License-Identifier: Apache-2.0
// DsConfig: the part of a ds_config.json that affects memory, under its own names and with its own
// defaults (deepspeed/runtime/config.py, zero/config.py, precision_config.py of DeepSpeed 0.19).
// "auto" is filled in as HF Trainer does (transformers/integrations/deepspeed.py).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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
  std::int64_t model_persistence_threshold = std::int64_t{1} << 62;
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

/// The members "bf16" and "fp16" (deepspeed/runtime/precision_config.py).
struct HalfPrecision {
  bool is_auto = true;  ///< on if the parameters have this dtype
  bool enabled = false, immediate_grad_update = false, scales_loss = true;
  bool check_grad_overflow = true;

  bool is_on(bool automatic) const { return is_auto ? automatic : enabled; }
};

/// A size of ZeRO that is "auto", and what Trainer makes of it for a hidden size.
struct AutoSize {
  std::int64_t ZeroConfig::* size;
  std::int64_t (*of_hidden)(std::int64_t hidden_size);
};

/// What a ds_config says before the model and the rest of the recipe are known. What it does not
/// say, or says to be "auto", is decided with them.
struct DsOptions {
  ZeroConfig zero;
  std::optional<std::int64_t> stage, hpz_partition_size;
  std::optional<bool> overlap_comm;
  std::vector<AutoSize> automatic;
  HalfPrecision bf16, fp16;
  std::optional<DType> grad_accum_dtype, communication_data_type;
  std::optional<double> gradient_clipping = 1.0;  ///< not set: the recipe's
  std::optional<ConfiguredOptimizer> optimizer;
  /// The sizes of the batch, and its total, which must be the product of the others.
  std::optional<std::int64_t> total, batch, micro_batch, accumulation;
  std::optional<bool> packed_sequences;
  bool makes_under_zero_init = false;
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
Result<DsConfig> ds_config_of(const DsOptions& said, const Config& model, const TrainRecipe& recipe,
                              AutoSizes sizes = AutoSizes::filled_in);

/// What a ds_config without a word on bf16 and fp16 means: neither, or both "auto", as
/// DeepSpeedPlugin.set_mixed_precision of accelerate has it.
enum class UnsaidPrecision { none, automatic };
Result<DsOptions> read_ds_config(std::string_view json, UnsaidPrecision unsaid);

/// Reads --strategy, which is a ds_config, into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);

/// The recipe with the batch that its ds_config names.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::deepspeed
