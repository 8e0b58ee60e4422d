// SPDX-License-Identifier: Apache-2.0
// Megatron-LM core.
#include "framework/torch/dialect.h"

#include <algorithm>

#include "base/letter_case.h"
#include "framework/megatron/arguments.h"
#include "framework/megatron/pretrain.h"
#include "framework/megatron/step_habits.h"
#include "framework/megatron/strategy.h"
#include "framework/megatron/transformers_model.h"
#include "framework/torch/dialect_parts.h"

namespace memtape::megatron {
namespace {

constexpr std::array kAbsent{torch::kNoTrainedLayers, torch::kNoUpcasting, torch::kNoOffload,
                             torch::kNoInitDevice, torch::kNoFreezing};

/// With Transformer Engine, unless the attention is one that only local layers have.
void start(std::span<const NamedValue> options, TrainRecipe& recipe) {
  const NamedValue unfused{"attention", "unfused"}, eager{"attention", "eager"};
  const bool is_local = std::ranges::find(options, unfused) != options.end() ||
                        std::ranges::find(options, eager) != options.end();
  if (is_local) return;
  recipe.attention = AttentionChoice::flash;
  recipe.optimizer_impl = OptimizerImpl::fused;
}

NamedValue in_common_words(const NamedValue& option) {
  if (option.first == "attention" && option.second == "unfused") return {option.first, "eager"};
  if (option.first == "optimizer-impl" && option.second == "torch")
    return {option.first, "foreach"};
  return option;
}

/// It follows from the layout (get_forward_backward_func, core/pipeline_parallel).
Result<void> check_schedule(const LayoutRecipe& layout) {
  if (layout.schedule.empty()) return {};
  const bool interleaves = layout.vpp.value_or(1) > 1;
  const std::string said = lower_case(layout.schedule);
  if (interleaves ? said == "interleaved1f1b" || said == "interleaved" : said == "1f1b") return {};
  return bad_input("unknown schedule \"" + layout.schedule + "\"", "--schedule",
                   interleaves ? "Interleaved1F1B with --vpp" : "1F1B; Interleaved1F1B with --vpp");
}

/// Megatron-LM without Transformer Engine runs its local layers, whose attention is unfused, and
/// torch.optim.AdamW; with it, FusedAdam (core/optimizer/__init__.py).
Result<void> check_options(std::span<const NamedValue> options, const TrainRecipe& recipe) {
  if (std::ranges::find(options, NamedValue{"attention", "sdpa"}) != options.end())
    return bad_input("Megatron-LM's attention is another", "--attention", "flash or unfused");
  if (recipe.optimizer != OptimizerName::adam && recipe.optimizer != OptimizerName::adamw)
    return has_none(*recipe.framework, "such optimizer in a model of transformers", "optimizer",
                    "adam; a launch command's --optimizer is read");
  const OptimizerImpl only =
      recipe.attention == AttentionChoice::eager ? OptimizerImpl::foreach : OptimizerImpl::fused;
  if (recipe.names_optimizer_impl && recipe.optimizer_impl != only)
    return bad_input("Transformer Engine is there with flash attention, and brings FusedAdam",
                     "--optimizer-impl", "fused with --attention flash, torch with unfused");
  return check_schedule(recipe.layout);
}

std::vector<Package> packages_of_program(const TrainRecipe&) {
  return {Package::torch, Package::megatron_core, Package::transformer_engine};
}

Result<std::int64_t> data_ranks(const Config& config, const TrainRecipe& recipe) {
  const auto arguments = read_arguments(config, recipe);
  if (!arguments) return tl::unexpected(arguments.error());
  return arguments->dp;
}

/// Its dispatchers move rows to where their experts are.
bool depends_on_routing(const TrainRecipe&) { return true; }

std::vector<Lever> distributed_optimizer(const TrainRecipe& recipe) {
  if (recipe.layout.gpus < 2 || recipe.layout.zero.value_or(0) > 0) return {};
  return {{{{"zero", "1"}}, "none: each data rank updates a shard of the parameters", true}};
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "megatron-core",
                  .summary = "Megatron-LM core",
                  .takes = {.low_bits = 3, .selective_checkpointing = true},
                  .absent = kAbsent,
                  .experts_follow_tensor_ranks = true,
                  // NVIDIA's 26.04 (docker/.ngc_version.dev since 5fe3f066, 7 May 2026).
                  .image = PackageVersion{Package::torch, {2, 12, 0}},
                  .start = start,
                  .in_common_words = in_common_words,
                  .strategy = read_strategy,
                  .check = check_options},
    .tasks = torch::kLanguageTasks,
    .packages = packages_of_program,
    .settle = resolved,
    .data_ranks = data_ranks,
    .plan = torch::plan_by<Arguments, read_arguments>,
    .ranks = torch::ranks_with<Arguments, rank_classes>,
    .run = torch::run_with<Arguments, run_training>,
    .counts_one_rank = true,
    .runs_every_micro_batch = true,
    .depends_on_routing = depends_on_routing,
    .levers = {.fused_attention = "flash", .sharing = distributed_optimizer, .adapters = nullptr},
    .time = {.float32_gradients = true,
             .float32_masters = true,
             .fused = true,
             .flash_attention_2 = false,
             .selective = {.kind = time::Recompute::Kind::selective, .core_attention = true},
             .selections = kSelections,
             .read = read_time},
    .space = PlanSpace::megatron,
    .planned = {.on_many = 1},
    .exported = ExportedProgram::pretrain_gpt};

}  // namespace memtape::megatron
