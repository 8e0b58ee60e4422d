// SPDX-License-Identifier: Apache-2.0
// TrainSetup: a training step as its time depends on it: plain sizes and switches, cheap to copy,
// so that a search can ask about thousands of layouts. `train_setup` reads one from a recipe, by the
// habits of its framework, which its dialect describes (src/framework/NAME/dialect.cpp).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/config.h"
#include "time/machine.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::time {

/// By the names of Megatron and torch.distributed.pipelining.
enum class PipelineSchedule : std::uint8_t {
  gpipe,
  one_f_one_b,  ///< interleaved where a rank has several chunks
  zero_bubble,  ///< the backward in two parts (ZB1P)
  zbv,          ///< two chunks a rank, in a V, weights' part fills the bubble
  dual_pipe_v,
  looped_bfs,
};

struct Recompute {
  enum class Kind : std::uint8_t { none, full, selective };
  Kind kind = Kind::none;
  std::int64_t layers = 0;  ///< of a stage that are recomputed in full; 0: all
  /// Of selective recomputation.
  bool core_attention = false, mlp = false, norms = false, mla_up = false, moe = false,
       moe_act = false, shared_experts = false;
};

enum class OptimizerOffload : std::uint8_t { none, optimizer, all };

struct TrainSetup {
  // sizes
  std::int64_t gpus = 1;
  std::int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  std::int64_t micro_batch = 1, global_batch = 1, sequence = 2048;
  // sharding of data parallel ranks
  std::int64_t zero = 0;              ///< 0 none, 1 optimizer, 2 and gradients, 3 and parameters
  std::int64_t shard_ranks = 0;       ///< ranks that one copy of the parameters is cut over; 0: all
  bool reshard_after_forward = true;  ///< of zero 3: gathered again for the backward
  bool sequence_parallel = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Recompute recompute;
  OptimizerOffload offload = OptimizerOffload::none;
  // numbers
  Compute compute = Compute::bf16;
  double parameter_bytes = 2;   ///< of one parameter as messages and memory hold it
  double gradient_bytes = 4;    ///< as they are reduced
  double optimizer_bytes = 16;  ///< read and written by the optimizer step for one parameter
  std::int64_t lora_rank = 0;
  double adapted = 1;           ///< share of the linear modules that have an adapter
  bool quantized_base = false;  ///< 4-bit weights that are unpacked for every use
  // how the program runs it
  bool fused = true;  ///< fused norms, rope, activations, losses (Transformer Engine, compile)
  bool flash_attention = true;
  bool flash_attention_2 = false;  ///< torch's own or flash-attn's; else cuDNN's or a newer one
  bool cuda_graphs = false;
  bool overlaps_gradients = true;   ///< reduce while the backward runs
  bool overlaps_parameters = true;  ///< gather while the forward runs
  bool overlaps_tensor = false;   ///< tp messages in pieces under the GEMMs (userbuffers, async tp)
  bool overlaps_experts = false;  ///< all-to-all under the computation of another micro-batch
  bool fast_dispatch = false;     ///< DeepEP or HybridEP in the place of NCCL's all-to-all
  double host_seconds_per_op = 6e-6;  ///< that Python takes to launch one kernel

  std::int64_t dp() const { return gpus / (tp * pp * cp) > 0 ? gpus / (tp * pp * cp) : 1; }
  std::int64_t micro_batches() const {
    const std::int64_t n = global_batch / (dp() * micro_batch);
    return n > 0 ? n : 1;
  }
};

/// How a framework runs a step, as far as its time depends on it.
struct FrameworkHabits {
  bool shards = false;             ///< parameters are cut (ZeRO 3) where no stage is named
  bool float32_gradients = false;  ///< reduced so, whatever the parameters' dtype
  bool float32_masters = false;    ///< the optimizer updates copies of the parameters
  bool sequence_parallel = false;  ///< between tensor parallel modules, without being asked
  bool fused = false;              ///< norms, rope, activations and losses are one kernel each
  bool flash_attention_2 = true;   ///< torch's own or flash-attn's; else cuDNN's or a newer one
  Recompute selective = {.kind = Recompute::Kind::selective};  ///< what that makes again
  /// What its own options say, by name in --strategy or by its own names in the recipe; null: it
  /// has none that time depends on.
  void (*read)(const TrainRecipe& recipe, const Config& strategy, TrainSetup& setup) = nullptr;
};

/// What the optimizer step reads and writes for one parameter.
double optimizer_bytes(const TrainRecipe& recipe, bool has_float32_masters);

/// What the recipe asks for; what it does not say is what its framework does.
Result<TrainSetup> train_setup(const TrainRecipe& recipe, const FrameworkHabits& habits);

}  // namespace memtape::time
