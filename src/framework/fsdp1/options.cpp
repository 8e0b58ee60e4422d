// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/options.h"

#include "framework/torch/strategy.h"

namespace memtape::fsdp1 {
namespace {

using fields::put;

struct Said : Options {
  std::vector<std::int64_t> mesh_sizes;
};

constexpr auto kStrategies = choices<ShardingStrategy>(
    "unknown value", {{"FULL_SHARD", ShardingStrategy::full_shard},
                      {"SHARD_GRAD_OP", ShardingStrategy::shard_grad_op},
                      {"NO_SHARD", ShardingStrategy::no_shard},
                      {"HYBRID_SHARD", ShardingStrategy::hybrid_shard},
                      {"_HYBRID_SHARD_ZERO2", ShardingStrategy::hybrid_zero2}});
constexpr auto kPrefetches = choices<BackwardPrefetch>(
    "unknown value",
    {{"BACKWARD_PRE", BackwardPrefetch::pre}, {"BACKWARD_POST", BackwardPrefetch::post}});

/// MixedPrecision (torch/distributed/fsdp/api.py).
Result<void> refuse_low_gradients(const Config& json, std::string_view name, Said&) {
  if (!json.boolean(name)) return {};
  return unsupported("\"keep_low_precision_grads\" is not modelled", "--strategy: mixed_precision",
                     "false, the default");
}
constexpr auto kMixedPrecision = std::to_array<ConfigField<Said>>({
    {"param_dtype", put<&Said::param_dtype>},
    {"reduce_dtype", put<&Said::reduce_dtype>},
    {"buffer_dtype", put<&Said::buffer_dtype>},
    {"keep_low_precision_grads", refuse_low_gradients},
    {"cast_forward_inputs", put<&Said::cast_forward_inputs>},
    {"cast_root_forward_inputs", put<&Said::cast_root_forward_inputs>},
});

Result<void> read_mixed_precision(const Config& json, std::string_view name, Said& said) {
  return read_fields(json.object(name), "--strategy: mixed_precision", kMixedPrecision, said);
}

Result<void> read_prefetch(const Config& json, std::string_view name, Said& said) {
  if (!json.is_null(name))
    return fields::pick<&Said::backward_prefetch, kPrefetches>(json, name, said);
  said.backward_prefetch = BackwardPrefetch::none;
  return {};
}

/// memtape's own word for auto_wrap_policy.
Result<void> read_wrap(const Config& json, std::string_view name, Said& said) {
  const std::string wrap = json.text(name);
  if (wrap != "layer" && wrap != "none")
    return unsupported("only layers are wrapped", "--strategy: wrap", "layer or none");
  said.wraps_layers = wrap == "layer";
  return {};
}

/// FullyShardedDataParallel.__init__; "mesh" is the shape of its device_mesh, "no_sync" whether the
/// loop accumulates under it.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"wrap", read_wrap},
    {"sharding_strategy", fields::pick<&Said::sharding_strategy, kStrategies>},
    {"mixed_precision", read_mixed_precision},
    {"use_orig_params", put<&Said::use_orig_params>},
    {"limit_all_gathers"},
    {"backward_prefetch", read_prefetch},
    {"forward_prefetch", put<&Said::forward_prefetch>},
    {"cpu_offload", put<&Said::cpu_offload>},
    {"no_sync", put<&Said::no_sync>},
    {"mesh", put<&Said::mesh_sizes>},
    {"sync_module_states", put<&Said::sync_module_states>},
});

/// Hybrid strategies replicate along the first axis of a mesh of two.
Result<void> settle_mesh(const LayoutRecipe& layout, Said& said) {
  if (said.is_hybrid() != (said.mesh_sizes.size() == 2))
    return bad_input("hybrid sharding goes with a mesh of two axes", "--strategy: mesh",
                     "[replicate, shard]");
  const auto mesh = torch::sharded_mesh(said.mesh_sizes, layout);
  if (!mesh) return tl::unexpected(mesh.error());
  said.mesh = *mesh;
  if (said.mesh.size("shard") == 1)  // _init_core_state clamps a group of one
    said.sharding_strategy = ShardingStrategy::no_shard;
  return {};
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<Options> options_of(const TrainRecipe& recipe) {
  Said said = recipe.own.of<Said>();
  return torch::check_data_parallel(recipe.layout)
      .and_then([&] { return settle_mesh(recipe.layout, said); })
      .map([&]() -> Options {
        said.cpu_offload |= recipe.layout.offload == "all";
        return said;
      });
}

}  // namespace memtape::fsdp1
