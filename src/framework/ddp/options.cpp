// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/options.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::ddp {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>(
    {"bucket_cap_mb", "gradient_as_bucket_view", "static_graph", "find_unused_parameters",
     "broadcast_buffers", "init_sync", "comm_hook", "comm_hook_state", "device_ids",
     "check_reduction"});

constexpr std::int64_t kStartPowerSgd = 1000;

/// torch.distributed.algorithms.ddp_comm_hooks; those that reduce the bucket itself hold nothing.
Result<std::optional<DType>> compression_of(const std::optional<std::string>& hook) {
  constexpr auto kHooks = std::to_array<std::string_view>(
      {"allreduce_hook", "noop_hook", "post_localSGD_hook", "powerSGD_hook",
       "batched_powerSGD_hook", "fp16_compress_hook", "bf16_compress_hook"});
  if (!hook) return std::nullopt;
  if (*hook == "fp16_compress_hook") return DType::float16;
  if (*hook == "bf16_compress_hook") return DType::bfloat16;
  if (std::find(kHooks.begin(), kHooks.end(), *hook) != kHooks.end()) return std::nullopt;
  return unsupported("\"" + *hook + "\" is not modelled", "--strategy: comm_hook",
                     suggestion(*hook, kHooks));
}

bool is_power_sgd(const Config& json) {
  const std::string hook = json.text("comm_hook", "");
  return hook == "powerSGD_hook" || hook == "batched_powerSGD_hook";
}

/// PowerSGDState: before its start_powerSGD_iter buckets are reduced as they are.
Result<void> check_power_sgd(const Config& json) {
  const std::int64_t start =
      json.object("comm_hook_state").integer("start_powerSGD_iter", kStartPowerSgd);
  if (!is_power_sgd(json) || start >= torch::kSteps) return {};
  return unsupported("steps with PowerSGD are not modelled",
                     "--strategy: comm_hook_state: start_powerSGD_iter",
                     std::to_string(torch::kSteps) + " or more, for the steps before");
}

}  // namespace

Result<Options> read_options(const TrainRecipe& recipe) {
  const Result<Config> json = torch::read_data_parallel_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Options options;
  options.bucket_cap_mb = json->optional_number("bucket_cap_mb");
  options.gradient_as_bucket_view = json->boolean("gradient_as_bucket_view", false);
  options.static_graph = json->boolean("static_graph", false);
  options.find_unused_parameters = json->boolean("find_unused_parameters", false);
  options.broadcast_buffers = json->boolean("broadcast_buffers", true);
  options.init_sync = json->boolean("init_sync", true);
  const auto compressed = compression_of(json->optional_text("comm_hook"));
  if (!compressed) return tl::unexpected(compressed.error());
  options.compressed = *compressed;
  if (const Result<void> fine = check_power_sgd(*json); !fine) return tl::unexpected(fine.error());
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (!(options.bucket_cap_mb.value_or(25.0) > 0.0 && options.bucket_cap_mb.value_or(25.0) < 1e9))
    return bad_input("unusable value", "--strategy: bucket_cap_mb", "a positive number of MiB");
  return options;
}

TrainRecipe resolved(TrainRecipe recipe) {
  if (recipe.layout.strategy.empty()) return recipe;
  const Result<Config> json = Config::parse(recipe.layout.strategy, "--strategy");
  if (json && is_power_sgd(*json))
    recipe.not_modelled.push_back(
        "PowerSGD begins after start_powerSGD_iter steps; from then on it holds the errors of all "
        "buckets and low-rank factors, which are not counted");
  return recipe;
}

}  // namespace memtape::ddp
