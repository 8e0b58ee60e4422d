// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/options.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "framework/fsdp2/optimizer_over_shards.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_tp {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>(
    {"size", "plan", "sequence_parallel", "loss_parallel", "loss", "fsdp2", "param_groups"});
constexpr auto kPlans = std::to_array<std::string_view>({"colrow", "hf"});
constexpr std::string_view kLoss = "cross_entropy(logits.flatten(0,1).float())";

std::string text_of(std::int64_t number) { return std::to_string(number); }

/// The group's size: --strategy's, --tp's, else every GPU.
Result<std::int64_t> read_size(const Config& json, const LayoutRecipe& layout) {
  const std::int64_t size =
      json.optional_dimension("size").value_or(layout.tp.value_or(layout.gpus));
  if (size < 1) return bad_input("a group without GPUs", "--strategy: size", "1 or more");
  if (layout.tp && *layout.tp != size)
    return bad_input("--tp " + text_of(*layout.tp) + " and a size of " + text_of(size),
                     "--strategy: size", "the same number twice");
  return size;
}

Result<PlanName> read_plan(const Config& json) {
  const std::string name = json.text("plan", "colrow");
  const auto* const found = std::find(kPlans.begin(), kPlans.end(), name);
  if (found == kPlans.end())
    return bad_input("unknown plan \"" + name + "\"", "--strategy: plan", suggestion(name, kPlans));
  return *found == "hf" ? PlanName::hf : PlanName::colrow;
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

Result<void> read_fsdp2(const Config& json, const TrainRecipe& recipe, Options& options) {
  const bool has_fsdp2 = json.has("fsdp2") && json.json("fsdp2") != "null";
  const auto shards = torch::remaining_axis(recipe.layout, "dp", recipe.layout.dp, options.size);
  if (!shards) return tl::unexpected(shards.error());
  if (!has_fsdp2 && *shards != 1)
    return bad_input("a tensor parallel size of " + text_of(options.size) + " is not the " +
                         text_of(recipe.layout.gpus) + " GPUs",
                     "--gpus", text_of(options.size) + ", or fsdp2 in --strategy for the rest");
  options.layout = Layout({{"shard", *shards}, {"tp", options.size}});
  if (!has_fsdp2) return {};
  const auto fsdp2 = fsdp2::read_options(json.object({"fsdp2"}), options.layout);
  if (!fsdp2) return tl::unexpected(fsdp2.error());
  options.fsdp2 = *fsdp2;
  return {};
}

}  // namespace

Result<Options> read_options(const Config& config, const TrainRecipe& recipe) {
  if (const Result<void> fine = torch::check_axes(recipe.layout, {"dp", "tp"}); !fine)
    return tl::unexpected(fine.error());
  const Result<Config> json = torch::read_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Options options;
  const auto size = read_size(*json, recipe.layout);
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (!size) return tl::unexpected(size.error());
  options.size = *size;
  const auto plan_name = read_plan(*json);
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (!plan_name) return tl::unexpected(plan_name.error());
  options.plan_name = *plan_name;
  options.sequence_parallel = json->boolean("sequence_parallel", false);
  options.loss_parallel = json->boolean("loss_parallel", false);
  if (options.plan_name == PlanName::hf && (options.sequence_parallel || options.loss_parallel))
    return bad_input("transformers' plan has no sequence or loss parallel part", "--strategy: plan",
                     "colrow");
  if (const std::string loss = json->text("loss", std::string(kLoss)); loss != kLoss)
    return unsupported("the loss \"" + loss + "\" is not modelled", "--strategy: loss",
                       std::string(kLoss));
  const auto plan =
      options.plan_name == PlanName::hf
          ? hf_plan(config)
          : Result<Plan>(colrow_plan(options.sequence_parallel, options.loss_parallel));
  if (!plan) return tl::unexpected(plan.error());
  options.plan = *plan;
  if (const Result<void> fine = read_fsdp2(*json, recipe, options); !fine)
    return tl::unexpected(fine.error());
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (recipe.lora || recipe.quantization)
    return unsupported("adapters and quantized layers under a plan are not modelled", "--framework",
                       "torch-tp without them");
  if (const Result<void> fine = check_sizes(config, recipe, options); !fine)
    return tl::unexpected(fine.error());
  if (const Result<void> fine = check_optimizer(recipe); !fine) return tl::unexpected(fine.error());
  return options;
}

}  // namespace memtape::torch_tp
