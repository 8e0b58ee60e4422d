// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/options.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::fsdp2 {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>(
    {"mixed_precision", "mp_policy", "reshard_after_forward", "cpu_offload", "offload_policy",
     "reshard_after_backward", "wrap_ends", "mesh", "forward_prefetch", "backward_prefetch"});

Result<MixedPrecision> read_mixed_precision(const Config& json) {
  MixedPrecision policy;
  struct Field {
    const char* name;
    std::optional<DType>& into;
  };
  const std::array<Field, 3> fields{{{"param_dtype", policy.param_dtype},
                                     {"reduce_dtype", policy.reduce_dtype},
                                     {"output_dtype", policy.output_dtype}}};
  for (const Field& field : fields) {
    const auto dtype = torch::optional_dtype(json, field.name);
    if (!dtype) return tl::unexpected(dtype.error());
    field.into = *dtype;
  }
  policy.cast_forward_inputs = json.boolean("cast_forward_inputs", true);
  return policy;
}

/// true, false, null, or the number of shards to go back to.
void read_reshard(const Config& json, Options& options) {
  const std::string text = json.json("reshard_after_forward");
  if (text == "true" || text == "false")
    options.reshard_after_forward = text == "true";
  else if (const auto shards = json.optional_dimension("reshard_after_forward")) {
    options.reshard_after_forward = true;
    options.reshard_to = *shards;
  }
}

Result<Layout> read_mesh(const Config& json, const LayoutRecipe& layout) {
  const std::vector<std::int64_t> sizes = json.integers("mesh");
  if (sizes.size() > 2)
    return bad_input("a mesh of more than two axes", "--strategy: mesh", "[replicate, shard]");
  const std::int64_t replicas = sizes.size() == 2 ? sizes[0] : 1;
  if (replicas < 1 || (!sizes.empty() && sizes.back() < 1))
    return bad_input("an axis without GPUs", "--strategy: mesh", "sizes of 1 or more");
  const auto given = sizes.empty() ? std::nullopt : std::optional(sizes.back());
  const auto shards = torch::remaining_axis(layout, "strategy: mesh", given, replicas);
  if (!shards) return tl::unexpected(shards.error());
  return Layout({{"replicate", replicas}, {"shard", *shards}});
}

/// All but the mesh.
Result<Options> read_policies(const Config& json) {
  Options options;
  const auto policy = read_mixed_precision(json.object({"mixed_precision", "mp_policy"}));
  if (!policy) return tl::unexpected(policy.error());
  options.mixed_precision = *policy;
  read_reshard(json, options);
  options.cpu_offload = json.boolean({"cpu_offload", "offload_policy"}, false);
  options.reshard_after_backward = json.boolean("reshard_after_backward", true);
  if (json.boolean("wrap_ends", false)) options.ends = WrappedEnds::apart;
  options.forward_prefetch = json.integer("forward_prefetch", 0);
  options.backward_prefetch = json.integer("backward_prefetch", 0);
  if (options.forward_prefetch < 0 || options.backward_prefetch < 0)
    return bad_input("a negative number of layers to gather ahead", "--strategy", "0 or more");
  return options;
}

Result<void> check_reshard(const Options& options) {
  const std::int64_t shards = options.mesh.size("shard");
  if (options.reshard_to && (shards % *options.reshard_to != 0))
    return bad_input(
        std::to_string(shards) + " shards do not divide by " + std::to_string(*options.reshard_to),
        "--strategy: reshard_after_forward", "a divisor of the shards");
  return {};
}

}  // namespace

Result<Options> read_options(const TrainRecipe& recipe) {
  const Result<Config> json = torch::read_data_parallel_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Result<Options> options = read_policies(*json);
  if (!options) return options;
  options->cpu_offload = options->cpu_offload || recipe.layout.offload == "all";
  const auto mesh = read_mesh(*json, recipe.layout);
  if (!mesh) return tl::unexpected(mesh.error());
  options->mesh = *mesh;
  options->mesh_has_replicas = json->integers("mesh").size() == 2;
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (const Result<void> fine = check_reshard(*options); !fine) return tl::unexpected(fine.error());
  return options;
}

Result<Options> read_options(const Config& json, const Layout& mesh) {
  for (const std::string& key : json.keys())
    if (key == "mesh")
      return bad_input("the mesh follows from the other axis", "--strategy: fsdp2", "no mesh");
    else if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
      return unsupported("\"" + key + "\" is not modelled", "--strategy: fsdp2",
                         suggestion(key, kKnown));
  Result<Options> options = read_policies(json);
  if (!options) return options;
  options->mesh = mesh;
  if (const Result<void> fine = check_reshard(*options); !fine) return tl::unexpected(fine.error());
  return options;
}

}  // namespace memtape::fsdp2
