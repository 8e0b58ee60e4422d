// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/options.h"

#include "framework/torch/strategy.h"

namespace memtape::ddp {
namespace {

using fields::put;

/// PowerSGDState: before its start_powerSGD_iter buckets are reduced as they are.
constexpr std::int64_t kStartPowerSgd = 1000;

struct Said : Options {
  std::int64_t start_power_sgd = kStartPowerSgd;
};

/// torch.distributed.algorithms.ddp_comm_hooks; those that reduce the bucket itself hold nothing.
constexpr auto kHooks = choices<CommHook>("", {{"allreduce_hook", {}},
                                               {"noop_hook", {}},
                                               {"post_localSGD_hook", {}},
                                               {"powerSGD_hook", {.is_power_sgd = true}},
                                               {"batched_powerSGD_hook", {.is_power_sgd = true}},
                                               {"fp16_compress_hook", {DType::float16}},
                                               {"bf16_compress_hook", {DType::bfloat16}}});

Result<void> read_cap(const Config& json, std::string_view name, Said& said) {
  said.bucket_cap_mb = json.optional_number(name);
  if (Result<void> fine = json.check(); !fine || !said.bucket_cap_mb) return fine;
  if (*said.bucket_cap_mb > 0.0 && *said.bucket_cap_mb < 1e9) return {};
  return bad_input("unusable value", "--strategy: bucket_cap_mb", "a positive number of MiB");
}

Result<void> read_hook_state(const Config& json, std::string_view name, Said& said) {
  said.start_power_sgd = json.object(name).integer("start_powerSGD_iter", kStartPowerSgd);
  return {};
}

constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"bucket_cap_mb", read_cap},
    {"gradient_as_bucket_view", put<&Said::gradient_as_bucket_view>},
    {"static_graph", put<&Said::static_graph>},
    {"find_unused_parameters", put<&Said::find_unused_parameters>},
    {"broadcast_buffers", put<&Said::broadcast_buffers>},
    {"init_sync", put<&Said::init_sync>},
    {"comm_hook", fields::pick<&Said::hook, kHooks>},
    {"comm_hook_state", read_hook_state},
    {"device_ids check_reduction"},
});

Result<void> check_power_sgd(const Said& said) {
  if (!said.runs_power_sgd() || said.start_power_sgd >= torch::kSteps) return {};
  return unsupported("steps with PowerSGD are not modelled",
                     "--strategy: comm_hook_state: start_powerSGD_iter",
                     std::to_string(torch::kSteps) + " or more, for the steps before");
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<Options> options_of(const TrainRecipe& recipe) {
  Said said = recipe.own.of<Said>();
  return torch::check_data_parallel(recipe.layout)
      .and_then([&] { return check_power_sgd(said); })
      .map([&]() -> Options { return said; });
}

TrainRecipe resolved(TrainRecipe recipe) {
  if (const auto options = options_of(recipe); options && options->runs_power_sgd())
    recipe.not_modelled.push_back(
        "PowerSGD begins after start_powerSGD_iter steps; from then on it holds the errors of all "
        "buckets and low-rank factors, which are not counted");
  return recipe;
}

}  // namespace memtape::ddp
