// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/options.h"

#include <algorithm>
#include <string>

#include "base/letter_case.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_pp {
namespace {

constexpr std::int64_t kMostMicrobatches = 1024;

constexpr auto kSchedules = choices<ScheduleKind>(
    "unknown schedule", {{"GPipe", ScheduleKind::gpipe},
                         {"1F1B", ScheduleKind::one_f_one_b},
                         {"Interleaved1F1B", ScheduleKind::interleaved},
                         {"LoopedBFS", ScheduleKind::looped_bfs},
                         {"InterleavedZeroBubble", ScheduleKind::interleaved_zero_bubble},
                         {"ZBVZeroBubble", ScheduleKind::zbv_zero_bubble},
                         {"DualPipeV", ScheduleKind::dual_pipe_v}});

struct Said : Options {
  std::optional<std::string> named;
  std::optional<std::int64_t> of_each_rank, count;
};

/// Whether the logits become float32 for the loss.
Result<void> read_loss(const Config& json, std::string_view name, Said& said) {
  if (json.is_null(name)) return {};
  return torch::cross_entropy_named(json.text(name), false).map([&](torch::LossNumbers numbers) {
    said.loss_in_float = numbers == torch::LossNumbers::in_float;
  });
}

/// The constructors of schedules (torch/distributed/pipelining/schedules.py); "schedule",
/// "stages_per_rank" and "layers" are what a program around them chooses.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"schedule", fields::put<&Said::named>},
    {"stages_per_rank", fields::put_size<&Said::of_each_rank>},
    {"microbatches n_microbatches", fields::put_size<&Said::count>},
    {"loss", read_loss},
    {"return_outputs", fields::put<&Said::return_outputs>},
    {"scale_grads"},
    {"layers", fields::put<&Said::layers>},
});

std::string of_stages(const Options& o) { return std::to_string(o.stages()) + " stages"; }

Result<void> check_recipe(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  if (layout.pp && *layout.pp != layout.gpus)
    return unsupported("data parallelism inside stages is not modelled", "--pp",
                       std::to_string(layout.gpus) + ", the number of GPUs");
  if (recipe.task != Task::causal_lm)
    return unsupported("only causal-lm is cut into stages", "--task", "causal-lm");
  if (recipe.autocasts())
    return unsupported("autocast around a schedule is not modelled", "--precision",
                       "bf16, fp16 or fp32");
  if (recipe.lora || recipe.quantization)
    return unsupported("adapters in a pipeline are not modelled", "--framework torch-pp", "torch");
  return {};
}

}  // namespace

Result<ScheduleKind> find_schedule(std::string_view wanted, const OptionNames& names) {
  std::string word(wanted);
  for (const auto& schedule : kSchedules.all)
    if (lower_case(std::string(schedule.name)) == lower_case(word)) word = schedule.name;
  return choose(kSchedules, word, names.schedule);
}

Result<void> check_schedule(const Options& o, const OptionNames& names) {
  const std::string schedule(name(o.schedule));
  const std::string count = std::to_string(o.microbatches);
  if (is_single(o.schedule) && o.stages_per_rank != 1)
    return bad_input(schedule + " runs one stage a rank", names.stages_per_rank,
                     "1, or Interleaved1F1B");
  if (is_v_shaped(o.schedule) && o.stages_per_rank != 2)
    return bad_input(schedule + " runs two stages a rank", names.stages_per_rank, "2");
  const bool fills =
      o.schedule == ScheduleKind::one_f_one_b || o.schedule == ScheduleKind::dual_pipe_v;
  if (fills && o.microbatches < o.stages())
    return bad_input(count + " micro-batches do not fill " + of_stages(o), names.microbatches,
                     std::to_string(o.stages()) + " or more");
  const bool in_rounds = o.schedule == ScheduleKind::interleaved ||
                         o.schedule == ScheduleKind::interleaved_zero_bubble;
  const std::int64_t rounds = std::max<std::int64_t>(1, o.microbatches / o.ranks);
  if (in_rounds && o.microbatches % rounds != 0)
    return bad_input(count + " micro-batches do not divide into " + std::to_string(rounds) +
                         " rounds over " + std::to_string(o.ranks) + " ranks",
                     names.microbatches, "a multiple of " + std::to_string(o.ranks));
  return {};
}

std::string_view name(ScheduleKind kind) {
  return std::ranges::find(kSchedules.all, kind, &NamedChoice<ScheduleKind>::value)->name;
}

namespace {

Result<void> settle_schedule(const LayoutRecipe& layout, Said& said) {
  said.ranks = layout.gpus;
  const std::string otherwise = layout.schedule.empty() ? "1F1B" : layout.schedule;
  const auto schedule = find_schedule(said.named.value_or(otherwise));
  if (!schedule) return tl::unexpected(schedule.error());
  said.schedule = *schedule;
  said.stages_per_rank =
      said.of_each_rank.value_or(layout.vpp.value_or(is_single(*schedule) ? 1 : 2));
  return {};
}

/// A schedule accumulates over its micro-batches; 1 says that nothing beside it accumulates.
Result<void> settle_microbatches(const TrainRecipe& recipe, Said& said) {
  const bool names_accumulation = recipe.names_gradient_accumulation;
  if (said.count && names_accumulation && recipe.gradient_accumulation != 1 &&
      *said.count != recipe.gradient_accumulation)
    return bad_input("a schedule accumulates over its micro-batches, which are " +
                         std::to_string(*said.count) + " in --strategy",
                     "--gradient-accumulation", "one of the two, or the same number");
  said.names_microbatches = said.count || names_accumulation;
  said.microbatches =
      said.count.value_or(names_accumulation ? recipe.gradient_accumulation : said.stages());
  if (said.microbatches <= kMostMicrobatches) return {};
  return bad_input(std::to_string(said.microbatches) + " micro-batches", "--strategy: microbatches",
                   std::to_string(kMostMicrobatches) + " or fewer");
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<Options> options_of(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  Said said = recipe.own.of<Said>();
  return torch::check_axes(layout, {"pp", "vpp"})
      .and_then([&] { return check_recipe(recipe); })
      .and_then([&] { return settle_schedule(layout, said); })
      .and_then([&] { return settle_microbatches(recipe, said); })
      .and_then([&] { return check_schedule(said); })
      .and_then([&]() -> Result<Options> {
        if (!splits_backward(said.schedule) || recipe.checkpointing == Checkpointing::none)
          return said;
        return unsupported("checkpointing where the backward is split is not modelled",
                           "--gradient-checkpointing",
                           "none, or a schedule such as Interleaved1F1B");
      });
}

TrainRecipe resolved(TrainRecipe recipe) {
  const Result<Options> options = options_of(recipe);
  if (!options) return recipe;
  if (!options->names_microbatches)
    recipe.assumed.push_back("as many micro-batches as there are stages, " +
                             std::to_string(options->stages()) +
                             ", where neither --global-batch-size nor --gradient-accumulation "
                             "says how many");
  recipe.gradient_accumulation = options->microbatches;
  recipe.names_gradient_accumulation = true;
  return recipe;
}

}  // namespace memtape::torch_pp
