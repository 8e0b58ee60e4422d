// SPDX-License-Identifier: Apache-2.0
// The options of fully_shard that affect memory, under their names there
// (torch/distributed/fsdp/_fully_shard), and the shape of the device mesh: one axis shards, and a
// second one before it replicates (HSDP).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ghost/tensor.h"
#include "mesh/layout.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp2 {

/// MixedPrecisionPolicy.
struct MixedPrecision {
  std::optional<DType> param_dtype, reduce_dtype, output_dtype;
  bool cast_forward_inputs = true;
};

/// Which of embedding, final norm and head are separate units: none of them (`none`), or the
/// embedding, and the norm together with the head (`apart`). `as_accelerate` does the same, except
/// that all three are one unit if embedding and head are tied (fsdp2_prepare_model of accelerate
/// 1.15); that unit stays whole after the forward.
enum class WrappedEnds { none, apart, as_accelerate };

/// Modules inside of layers that are separate units on their own mesh. Then each unit says what is
/// gathered ahead (apply_fsdp of models/llama4/infra/parallelize.py in torchtitan): with a layer,
/// the next layer and its inner unit; in backward, the layer before and its inner unit.
struct InnerUnits {
  std::string module;  ///< the name of these modules
  Layout mesh{{}};
  int shard_dim = 0;  ///< shard_placement_fn
};

struct Options {
  MixedPrecision mixed_precision;
  std::optional<bool> reshard_after_forward;  ///< not set: true for all units except the root
  /// The number of shards to which it reshards, if not to all.
  std::optional<std::int64_t> reshard_to;
  bool cpu_offload = false;  ///< CPUOffloadPolicy
  /// set_reshard_after_backward, while gradients are accumulated.
  bool reshard_after_backward = true;
  bool tells_last_backward = true;  ///< set_is_last_backward, while gradients are accumulated
  /// set_requires_gradient_sync, while gradients are accumulated; false: they stay whole until the
  /// last micro-batch of the step.
  bool requires_gradient_sync = false;
  std::string json = "{}";   ///< all that --strategy says
  bool wraps_layers = true;  ///< each layer is a unit; false: everything is one unit
  WrappedEnds ends = WrappedEnds::none;
  /// The program ties embedding and head again after they have become shards.
  bool ties_shards = false;
  /// For each layer, this many of the layers that follow it are given to
  /// set_modules_to_forward_prefetch, and this many of those before it to
  /// set_modules_to_backward_prefetch, the nearest first.
  std::int64_t forward_prefetch = 0, backward_prefetch = 0;
  /// accelerate gets a PeftModel and looks up its base by the prefix of the base itself. If that is
  /// "model", it finds another model there, which has no norm among its children
  /// (_find_final_norm).
  bool is_peft_model = false;
  bool is_stage = false;  ///< a stage of a pipeline: ends that it lacks belong to other stages
  /// ignored_params of accelerate: 4-bit weights that are packed into bytes stay whole on every
  /// rank.
  bool ignores_integers = false;
  bool keeps_last_layer = false;  ///< the last layer is not resharded after forward
  Layout mesh{{}};                ///< its axes are "replicate" and "shard"
  /// The mesh of the program has the axis of replicas, even if with one rank.
  bool mesh_has_replicas = false;
  std::optional<InnerUnits> inner;
  int shard_dim = 0;               ///< the dimension along which the unit's parameters are divided
  bool divides_gradients = false;  ///< set_gradient_divide_factor
  /// For parameters that are DTensors already: brings a gradient into the placement of its
  /// parameter (FSDPParam._get_grad_inner_tensor).
  std::function<ghost::Tensor(const ghost::Tensor& parameter, ghost::Tensor gradient)>
      local_gradient;
  /// register_post_accumulate_grad_hook of a sharded parameter, which foreach_reduce calls.
  std::function<void(const ghost::Tensor& sharded)> post_accumulate;
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const TrainRecipe& recipe);
/// Those options of fully_shard that go with another axis's program.
Result<Options> read_options(const Config& json);
/// What --strategy says, before the layout decides the rest.
const Options& said_options(const TrainRecipe& recipe);
/// Sets the mesh, whose axis "shard" may be one of several; what cannot lie over it is an error.
Result<void> lay_over(const Layout& mesh, Options& options);

}  // namespace memtape::fsdp2
