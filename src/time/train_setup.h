// SPDX-License-Identifier: Apache-2.0
// TrainSetup: a training step, reduced to what its time depends on: plain sizes and switches. It is
// cheap to copy, so that a search can ask about thousands of layouts. `train_setup` makes one from
// a recipe and from the habits of its framework, which its dialect describes
// (src/framework/NAME/dialect.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/config.h"
#include "time/kernels.h"
#include "time/machine.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::time {

/// Under the names of Megatron and of torch.distributed.pipelining.
enum class PipelineSchedule : std::uint8_t {
  gpipe,
  one_f_one_b,  ///< interleaved if a rank has several chunks
  zero_bubble,  ///< the backward is split into two parts (ZB1P)
  zbv,          ///< two chunks for each rank, in a V; the weights' part fills the bubble
  dual_pipe_v,
  looped_bfs,
};

struct Recompute {
  enum class Kind : std::uint8_t { none, full, selective };
  Kind kind = Kind::none;
  std::int64_t layers = 0;  ///< the layers of a stage that are recomputed in full; 0: all
  /// Full recomputation ends when all that the backward needs is there, which is before a dense
  /// layer's last product (torch.utils.checkpoint's early stop from 2.1 on; XLA removes it as dead).
  bool stops_early = false;
  /// Products that are kept and not made again (MaxText's policy save_qkv_proj, Praxis' SAVE_DOT_ONLY).
  bool keeps_qkv = false, keeps_out = false, keeps_mlp = false;
  /// The parts that selective recomputation computes again.
  bool core_attention = false, mlp = false, norms = false, mla_up = false, moe = false,
       moe_act = false, shared_experts = false;

  /// Adds a part by Megatron-LM's name for it, "moe_act". False if no part is called so.
  bool add_module(std::string_view name);
  /// Adds the parts of a list of such names with commas.
  void add_modules(std::string_view names);
  /// "qkv", "out" or "mlp" is kept. False if no product is called so.
  bool keep_product(std::string_view name);
};

enum class OptimizerOffload : std::uint8_t { none, optimizer, all };

struct TrainSetup {
  // These are the sizes.
  std::int64_t gpus = 1;
  std::int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  std::int64_t micro_batch = 1, global_batch = 1, sequence = 2048;
  // This is how the data parallel ranks share the model.
  /// 0: nothing; 1: optimizer states; 2: gradients, too; 3: parameters, too.
  std::int64_t zero = 0;
  /// The ranks over which one copy of the parameters is divided; 0: all.
  std::int64_t shard_ranks = 0;
  /// For zero 3: parameters are gathered again for the backward.
  bool reshard_after_forward = true;
  /// For zero 3: gradients stay whole until a step's last micro-batch, which reduces them.
  bool reduces_last = false;
  bool sequence_parallel = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Recompute recompute;
  OptimizerOffload offload = OptimizerOffload::none;
  // These are the number formats.
  Compute compute = Compute::bf16;
  std::optional<Compute> expert_compute;  ///< if not set, that of all products
  bool weights_in_16_bits = false;  ///< the products of weights' gradients (rowwise_with_gw_hp)
  /// Every cast first finds the largest element, and both ways are cast apart (torchao).
  bool casts_by_maximum = false;
  bool casts_weights = false;  ///< in every pass (torchao), not once a step (Transformer Engine)
  double parameter_bytes = 2;  ///< bytes of one parameter in messages and in memory
  double gradient_bytes = 4;   ///< bytes of one gradient when it is reduced
  /// Bytes that the optimizer step reads and writes for one parameter.
  double optimizer_bytes = 16;
  std::int64_t lora_rank = 0;
  double adapted = 1;  ///< the share of the linear modules that have an adapter
  /// The base model's weights have 4 bits and are unpacked at every use.
  bool quantized_base = false;
  // This is how the program runs the step.
  /// Norms, rope, activations and losses are fused (Transformer Engine, compile).
  bool fused = true;
  bool flash_attention = true;
  FlashAttention flash_version = FlashAttention::newest;
  bool cuda_graphs = false;
  bool overlaps_gradients = true;   ///< gradients are reduced while the backward runs
  bool overlaps_parameters = true;  ///< parameters are gathered while the forward runs
  /// Messages of tp run in pieces behind the GEMMs (userbuffers, async tp).
  bool overlaps_tensor = false;
  /// The all-to-all runs behind the computation of another micro-batch.
  bool overlaps_experts = false;
  bool fast_dispatch = false;         ///< DeepEP or HybridEP replaces NCCL's all-to-all
  double host_seconds_per_op = 6e-6;  ///< the time that Python takes to launch one kernel

  std::int64_t dp() const { return gpus / (tp * pp * cp) > 0 ? gpus / (tp * pp * cp) : 1; }
  std::int64_t micro_batches() const {
    const std::int64_t n = global_batch / (dp() * micro_batch);
    return n > 0 ? n : 1;
  }
};

/// How a framework runs a step, as far as the step's time depends on it.
struct FrameworkHabits {
  bool shards = false;  ///< parameters are divided (ZeRO 3) unless a stage is named
  /// Gradients are reduced in float32, whatever the parameters' dtype is.
  bool float32_gradients = false;
  bool float32_masters = false;  ///< the optimizer updates float32 copies of the parameters
  /// It is on without being asked for if there is tensor parallelism.
  bool sequence_parallel = false;
  bool fused = false;  ///< norms, rope, activations and losses are one kernel each
  /// Attention of torch or of flash-attn; false: cuDNN's or a newer one.
  bool flash_attention_2 = true;
  /// What selective recomputation computes again.
  Recompute selective = {.kind = Recompute::Kind::selective};
  /// What else it can be told to: lists of modules with commas.
  std::span<const std::string_view> selections = {};
  /// Applies the framework's own options on which time depends. It is null if there are none.
  void (*read)(const TrainRecipe& recipe, TrainSetup& setup) = nullptr;
};

/// The bytes that the optimizer step reads and writes for one parameter.
double optimizer_bytes(const TrainRecipe& recipe, bool has_float32_masters);

/// What the recipe asks for. What the recipe leaves open is what its framework does.
TrainSetup train_setup(const TrainRecipe& recipe, const FrameworkHabits& habits);

}  // namespace memtape::time
