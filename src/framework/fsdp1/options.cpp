// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::fsdp1 {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>(
    {"wrap", "sharding_strategy", "mixed_precision", "use_orig_params", "limit_all_gathers",
     "backward_prefetch", "forward_prefetch", "cpu_offload", "no_sync", "mesh",
     "sync_module_states"});

template <class E>
struct Choice {
  std::string_view name;
  E value;
};
constexpr auto kStrategies = std::to_array<Choice<ShardingStrategy>>(
    {{"FULL_SHARD", ShardingStrategy::full_shard},
     {"SHARD_GRAD_OP", ShardingStrategy::shard_grad_op},
     {"NO_SHARD", ShardingStrategy::no_shard},
     {"HYBRID_SHARD", ShardingStrategy::hybrid_shard},
     {"_HYBRID_SHARD_ZERO2", ShardingStrategy::hybrid_zero2}});
constexpr auto kPrefetches = std::to_array<Choice<BackwardPrefetch>>(
    {{"BACKWARD_PRE", BackwardPrefetch::pre}, {"BACKWARD_POST", BackwardPrefetch::post}});

template <class E, std::size_t N>
Result<E> choose(const std::string& text, const std::array<Choice<E>, N>& choices,
                 std::string_view key) {
  std::vector<std::string_view> names;
  for (const Choice<E>& choice : choices) {
    if (choice.name == text) return choice.value;
    names.push_back(choice.name);
  }
  return bad_input("unknown value \"" + text + "\"", "--strategy: " + std::string(key),
                   suggestion(text, names));
}

Result<void> read_mixed_precision(const Config& json, Options& options) {
  constexpr auto kPolicies = std::to_array<std::string_view>(
      {"param_dtype", "reduce_dtype", "buffer_dtype", "keep_low_precision_grads",
       "cast_forward_inputs", "cast_root_forward_inputs"});
  for (const std::string& key : json.keys())
    if (std::find(kPolicies.begin(), kPolicies.end(), key) == kPolicies.end())
      return unsupported("\"" + key + "\" is not modelled", "--strategy: mixed_precision",
                         suggestion(key, kPolicies));
  if (json.boolean("keep_low_precision_grads", false))
    return unsupported("\"keep_low_precision_grads\" is not modelled",
                       "--strategy: mixed_precision", "false, the default");
  options.cast_forward_inputs = json.boolean("cast_forward_inputs", false);
  options.cast_root_forward_inputs = json.boolean("cast_root_forward_inputs", true);
  struct Field {
    const char* name;
    std::optional<DType>& into;
  };
  const std::array<Field, 3> fields{{{"param_dtype", options.param_dtype},
                                     {"reduce_dtype", options.reduce_dtype},
                                     {"buffer_dtype", options.buffer_dtype}}};
  for (const Field& field : fields) {
    const auto dtype = torch::optional_dtype(json, field.name);
    if (!dtype) return tl::unexpected(dtype.error());
    field.into = *dtype;
  }
  return {};
}

Result<void> read_choices(const Config& json, Options& options) {
  const auto strategy =
      choose(json.text("sharding_strategy", "FULL_SHARD"), kStrategies, "sharding_strategy");
  if (!strategy) return tl::unexpected(strategy.error());
  options.sharding_strategy = *strategy;
  if (json.has("backward_prefetch") && json.is_null("backward_prefetch")) {
    options.backward_prefetch = BackwardPrefetch::none;
    return {};
  }
  const auto prefetch =
      choose(json.text("backward_prefetch", "BACKWARD_PRE"), kPrefetches, "backward_prefetch");
  if (!prefetch) return tl::unexpected(prefetch.error());
  options.backward_prefetch = *prefetch;
  return {};
}

/// Hybrid strategies replicate along the first axis of a mesh of two.
Result<Layout> read_mesh(const Config& json, const Options& options, const LayoutRecipe& layout) {
  const std::vector<std::int64_t> sizes = json.integers("mesh");
  if (options.is_hybrid() != (sizes.size() == 2))
    return bad_input("hybrid sharding goes with a mesh of two axes", "--strategy: mesh",
                     "[replicate, shard]");
  const std::int64_t replicas = sizes.empty() ? 1 : sizes.front();
  if (replicas < 1)
    return bad_input("an axis without GPUs", "--strategy: mesh", "sizes of 1 or more");
  const auto given = sizes.empty() ? std::nullopt : std::optional(sizes.back());
  const auto shards = torch::remaining_axis(layout, "strategy: mesh", given, replicas);
  if (!shards) return tl::unexpected(shards.error());
  return Layout({{"replicate", replicas}, {"shard", *shards}});
}

}  // namespace

Result<Options> read_options(const TrainRecipe& recipe) {
  const Result<Config> json = torch::read_data_parallel_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Options options;
  if (const auto fine = read_mixed_precision(json->object("mixed_precision"), options); !fine)
    return tl::unexpected(fine.error());
  if (const auto fine = read_choices(*json, options); !fine) return tl::unexpected(fine.error());
  options.use_orig_params = json->boolean("use_orig_params", false);
  options.forward_prefetch = json->boolean("forward_prefetch", false);
  options.cpu_offload = json->boolean("cpu_offload", false) || recipe.layout.offload == "all";
  options.no_sync = json->boolean("no_sync", true);
  options.sync_module_states = json->boolean("sync_module_states", false);
  const std::string wrap = json->text("wrap", "layer");
  if (wrap != "layer" && wrap != "none")
    return unsupported("only layers are wrapped", "--strategy: wrap", "layer or none");
  options.wraps_layers = wrap == "layer";
  const auto mesh = read_mesh(*json, options, recipe.layout);
  if (!mesh) return tl::unexpected(mesh.error());
  options.mesh = *mesh;
  if (options.mesh.size("shard") == 1)  // _init_core_state clamps a group of one
    options.sharding_strategy = ShardingStrategy::no_shard;
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  return options;
}

}  // namespace memtape::fsdp1
