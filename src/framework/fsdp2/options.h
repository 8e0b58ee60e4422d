// SPDX-License-Identifier: Apache-2.0
// The options of fully_shard that decide memory, by their names there
// (torch/distributed/fsdp/_fully_shard), and the shape of the device mesh: one axis shards, a
// second before it replicates (HSDP).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

/// Which of embedding, final norm and head are units of their own: none; embedding apart and norm
/// with head; or the same, and all three one unit where embedding and head are tied
/// (fsdp2_prepare_model of accelerate 1.15), which stays whole after the forward.
enum class WrappedEnds { none, apart, as_accelerate };

/// Modules inside of layers that are units of their own, on a mesh of their own; what is gathered
/// ahead is then said unit by unit (apply_fsdp of torchtitan's models/llama4/infra/parallelize.py):
/// with a layer the next one and its inner unit, in the backward the one before and its own.
struct InnerUnits {
  std::string module;  ///< their name
  Layout mesh{{}};
  int shard_dim = 0;  ///< shard_placement_fn
};

struct Options {
  MixedPrecision mixed_precision;
  std::optional<bool> reshard_after_forward;  ///< none: all but the root
  std::optional<std::int64_t> reshard_to;     ///< to so many shards, not to all
  bool cpu_offload = false;                   ///< CPUOffloadPolicy
  bool reshard_after_backward = true;         ///< set_reshard_after_backward while accumulating
  bool tells_last_backward = true;            ///< set_is_last_backward while accumulating
  bool wraps_layers = true;                   ///< each layer is a unit; else all is one
  WrappedEnds ends = WrappedEnds::none;
  bool ties_shards = false;  ///< the program ties embedding and head again once they are shards
  /// Of every layer so many that follow it are given to set_modules_to_forward_prefetch, so many
  /// before it to set_modules_to_backward_prefetch, the nearest first.
  std::int64_t forward_prefetch = 0, backward_prefetch = 0;
  /// accelerate is given a PeftModel, whose base it looks up by the base's own prefix: where that
  /// is "model" it finds another model there, and no norm among its children (_find_final_norm).
  bool is_peft_model = false;
  bool is_stage = false;  ///< of a pipeline: ends that are not there are other stages'
  /// ignored_params of accelerate: 4-bit weights packed into bytes stay whole on every rank.
  bool ignores_integers = false;
  bool keeps_last_layer = false;   ///< the last layer is not resharded after forward
  Layout mesh{{}};                 ///< axes "replicate" and "shard"
  bool mesh_has_replicas = false;  ///< the program's mesh has that axis, if of one rank
  std::optional<InnerUnits> inner;
  int shard_dim = 0;               ///< of the unit's parameters
  bool divides_gradients = false;  ///< set_gradient_divide_factor
  /// Over parameters that are DTensors already: a gradient in the placement of its parameter
  /// (FSDPParam._get_grad_inner_tensor).
  std::function<ghost::Tensor(const ghost::Tensor& parameter, ghost::Tensor gradient)>
      local_gradient;
  /// register_post_accumulate_grad_hook of a sharded parameter, which foreach_reduce calls.
  std::function<void(const ghost::Tensor& sharded)> post_accumulate;
};

Result<Options> read_options(const TrainRecipe& recipe);
/// Those options of fully_shard that go with another axis's program.
Result<Options> read_options(const Config& json);
/// Sets the mesh, whose axis "shard" may be one of several; what cannot lie over it is an error.
Result<void> lay_over(const Layout& mesh, Options& options);

}  // namespace memtape::fsdp2
