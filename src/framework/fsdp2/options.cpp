// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/options.h"

#include "framework/torch/strategy.h"

namespace memtape::fsdp2 {
namespace {

using fields::put;

struct Said : Options {
  std::vector<std::int64_t> mesh_sizes;
};

/// MixedPrecisionPolicy (torch/distributed/fsdp/_fully_shard/_fsdp_api.py).
constexpr auto kMixedPrecision = std::to_array<ConfigField<MixedPrecision>>({
    {"param_dtype", put<&MixedPrecision::param_dtype>},
    {"reduce_dtype", put<&MixedPrecision::reduce_dtype>},
    {"output_dtype", put<&MixedPrecision::output_dtype>},
    {"cast_forward_inputs", put<&MixedPrecision::cast_forward_inputs>},
});

/// true, false, null, or the number of shards to go back to.
Result<void> read_reshard(const Config& json, std::string_view name, Said& said) {
  const std::string text = json.json(name);
  if (text == "true" || text == "false")
    said.reshard_after_forward = text == "true";
  else if ((said.reshard_to = json.optional_dimension(name)))
    said.reshard_after_forward = true;
  return {};
}

Result<void> read_ends(const Config& json, std::string_view name, Said& said) {
  if (json.boolean(name)) said.ends = WrappedEnds::apart;
  return {};
}

/// How many layers are gathered ahead.
template <auto member>
Result<void> read_ahead(const Config& json, std::string_view name, Said& said) {
  said.*member = json.integer(name);
  if (said.*member >= 0) return {};
  return bad_input("a negative number of layers to gather ahead", "--strategy", "0 or more");
}

/// fully_shard (torch/distributed/fsdp/_fully_shard/_fully_shard.py) and the methods of FSDPModule;
/// "mesh" is the shape of its mesh, "wrap_ends" whether embedding and head are units.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"mixed_precision mp_policy", fields::put_object<&Said::mixed_precision, kMixedPrecision>},
    {"reshard_after_forward", read_reshard},
    {"cpu_offload offload_policy", put<&Said::cpu_offload>},
    {"reshard_after_backward", put<&Said::reshard_after_backward>},
    {"requires_gradient_sync", put<&Said::requires_gradient_sync>},
    {"wrap_ends", read_ends},
    {"mesh", put<&Said::mesh_sizes>},
    {"forward_prefetch", read_ahead<&Said::forward_prefetch>},
    {"backward_prefetch", read_ahead<&Said::backward_prefetch>},
});

}  // namespace

Result<void> lay_over(const Layout& mesh, Options& options) {
  options.mesh = mesh;
  const std::int64_t shards = mesh.size("shard");
  if (!options.reshard_to || shards % *options.reshard_to == 0) return {};
  return bad_input(
      std::to_string(shards) + " shards do not divide by " + std::to_string(*options.reshard_to),
      "--strategy: reshard_after_forward", "a divisor of the shards");
}

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe).map([&] {
    recipe.own.of<Said>().json = json;
  });
}

Result<Options> options_of(const TrainRecipe& recipe) {
  Said said = recipe.own.of<Said>();
  return torch::check_data_parallel(recipe.layout)
      .and_then([&] { return torch::sharded_mesh(said.mesh_sizes, recipe.layout); })
      .and_then([&](const Layout& mesh) { return lay_over(mesh, said); })
      .map([&]() -> Options {
        said.cpu_offload |= recipe.layout.offload == "all";
        said.mesh_has_replicas = said.mesh_sizes.size() == 2;
        return said;
      });
}

const Options& said_options(const TrainRecipe& recipe) { return recipe.own.of<Said>(); }

Result<Options> read_options(const Config& json) {
  Said said;
  if (json.has("mesh"))
    return bad_input("the mesh follows from the other axis", "--strategy: fsdp2", "no mesh");
  return read_fields(json, "--strategy: fsdp2", kFields, said).map([&]() -> Options {
    return said;
  });
}

}  // namespace memtape::fsdp2
