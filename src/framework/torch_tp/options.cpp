// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/options.h"

#include <array>
#include <string>

#include "framework/fsdp2/optimizer_over_shards.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_tp {
namespace {

using fields::put;

struct Said : Options {
  std::optional<std::int64_t> group;
};

constexpr auto kPlans =
    choices<PlanName>("unknown plan", {{"colrow", PlanName::colrow}, {"hf", PlanName::hf}});

Result<void> read_fsdp2(const Config& json, std::string_view name, Said& said) {
  if (json.is_null(name)) return {};
  return fsdp2::read_options(json.object(name)).map([&](const fsdp2::Options& read) {
    said.fsdp2 = read;
  });
}

/// "plan": those of parallelize_module that memtape writes down, by its own words; the rest is what
/// a program around it does.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"size", fields::put_size<&Said::group>},
    {"plan", fields::pick<&Said::plan_name, kPlans>},
    {"sequence_parallel", put<&Said::sequence_parallel>},
    {"loss_parallel", put<&Said::loss_parallel>},
    {"loss", torch::check_loss},
    {"fsdp2", read_fsdp2},
    {"param_groups"},
});

std::string text_of(std::int64_t number) { return std::to_string(number); }

/// The group's size: --strategy's, --tp's, else every GPU.
Result<void> settle_size(const LayoutRecipe& layout, Said& said) {
  said.size = said.group.value_or(layout.tp.value_or(layout.gpus));
  if (said.size < 1) return bad_input("a group without GPUs", "--strategy: size", "1 or more");
  if (!layout.tp || *layout.tp == said.size) return {};
  return bad_input("--tp " + text_of(*layout.tp) + " and a size of " + text_of(said.size),
                   "--strategy: size", "the same number twice");
}

Result<void> settle_plan(const Config& config, Said& said) {
  const bool is_hf = said.plan_name == PlanName::hf;
  if (is_hf && (said.sequence_parallel || said.loss_parallel))
    return bad_input("transformers' plan has no sequence or loss parallel part", "--strategy: plan",
                     "colrow");
  const auto plan =
      is_hf ? hf_plan(config) : colrow_plan(said.sequence_parallel, said.loss_parallel);
  if (!plan) return tl::unexpected(plan.error());
  said.plan = *plan;
  return {};
}

/// The GPUs that tensor parallelism leaves shard by fully_shard, or there are none.
Result<void> settle_layout(const LayoutRecipe& layout, Said& said) {
  const auto shards = torch::remaining_axis(layout, "dp", layout.dp, said.size);
  if (!shards) return tl::unexpected(shards.error());
  if (!said.fsdp2 && *shards != 1)
    return bad_input("a tensor parallel size of " + text_of(said.size) + " is not the " +
                         text_of(layout.gpus) + " GPUs",
                     "--gpus", text_of(said.size) + ", or fsdp2 in --strategy for the rest");
  said.layout = Layout({{"shard", *shards}, {"tp", said.size}});
  return said.fsdp2 ? fsdp2::lay_over(said.layout, *said.fsdp2) : Result<void>();
}

/// Sizes that must divide: what the family's forward cuts a projection's output into, and what
/// leaves a module as a plain tensor, whose next from_local takes all pieces for equal. The
/// vocabulary may be uneven.
Result<void> check_sizes(const Config& config, const TrainRecipe& recipe, const Options& options) {
  const std::int64_t heads = config.dimension("num_attention_heads", 32);
  struct Divided {
    const char* what;
    std::int64_t number;
    bool asked = true;
  };
  const bool gathers_logits = options.plan_name == PlanName::hf;
  const std::array<Divided, 5> divided{
      {{"num_attention_heads", heads},
       {"num_key_value_heads", config.dimension("num_key_value_heads", heads)},
       {"intermediate_size", config.dimension("intermediate_size", 11008)},
       {"vocab_size", config.dimension("vocab_size", 32000), gathers_logits},
       {"--sequence-length", recipe.sequence_length, options.sequence_parallel}}};
  for (const Divided& one : divided)
    if (one.asked && one.number % options.size != 0)
      return bad_input(text_of(one.number) + " do not divide by " + text_of(options.size) + " GPUs",
                       one.what, "a multiple of the tensor parallel size");
  if (options.sequence_parallel && recipe.attention == AttentionChoice::eager)
    return bad_input("eager attention's mask would be of the cut sequence", "--attention",
                     "sdpa with sequence_parallel");
  return {};
}

/// Optimizers whose ops are known to read gradients that lie otherwise than their parameters.
Result<void> check_optimizer(const TrainRecipe& recipe) {
  switch (recipe.optimizer) {
    case OptimizerName::adamw:
    case OptimizerName::adam:
    case OptimizerName::sgd:
    case OptimizerName::sgd_momentum: return fsdp2::check_optimizer_over_shards(recipe);
    default:
      return unsupported("this optimizer over DTensors is not modelled", "--optimizer",
                         "adamw, adam, sgd or sgd-momentum");
  }
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<Options> options_of(const Config& config, const TrainRecipe& recipe) {
  Said said = recipe.own.of<Said>();
  return torch::check_axes(recipe.layout, {"dp", "tp"})
      .and_then([&] { return settle_size(recipe.layout, said); })
      .and_then([&] { return settle_plan(config, said); })
      .and_then([&] { return settle_layout(recipe.layout, said); })
      .and_then([&]() -> Result<void> {
        if (!recipe.lora && !recipe.quantization) return {};
        return unsupported("adapters and quantized layers under a plan are not modelled",
                           "--framework", "torch-tp without them");
      })
      .and_then([&] { return check_sizes(config, recipe, said); })
      .and_then([&] { return check_optimizer(recipe); })
      .map([&]() -> Options { return said; });
}

}  // namespace memtape::torch_tp
