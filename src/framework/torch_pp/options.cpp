// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_pp {
namespace {

constexpr std::int64_t kMostMicrobatches = 1024;

constexpr auto kKnown = std::to_array<std::string_view>(
    {"schedule", "stages_per_rank", "microbatches", "n_microbatches", "loss", "return_outputs",
     "scale_grads", "layers"});

struct Named {
  std::string_view name;
  ScheduleKind kind;
};
constexpr auto kSchedules =
    std::to_array<Named>({{"GPipe", ScheduleKind::gpipe},
                          {"1F1B", ScheduleKind::one_f_one_b},
                          {"Interleaved1F1B", ScheduleKind::interleaved},
                          {"LoopedBFS", ScheduleKind::looped_bfs},
                          {"InterleavedZeroBubble", ScheduleKind::interleaved_zero_bubble},
                          {"ZBVZeroBubble", ScheduleKind::zbv_zero_bubble},
                          {"DualPipeV", ScheduleKind::dual_pipe_v}});

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Whether the logits become float32 for the loss.
Result<bool> read_loss(const std::optional<std::string>& loss) {
  constexpr std::string_view kInFloat = "cross_entropy(logits.flatten(0,1).float())";
  constexpr std::string_view kAsTheyAre = "cross_entropy(logits.flatten(0,1))";
  if (!loss || *loss == kInFloat) return true;
  if (*loss == kAsTheyAre) return false;
  return unsupported("the loss \"" + *loss + "\" is not modelled", "--strategy: loss",
                     std::string(kInFloat) + " or " + std::string(kAsTheyAre));
}

std::string of_stages(const Options& o) { return std::to_string(o.stages()) + " stages"; }

Result<void> check_recipe(const TrainRecipe& recipe) {
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
  std::vector<std::string_view> known;
  for (const Named& schedule : kSchedules) {
    if (equal_ignoring_case(schedule.name, wanted)) return schedule.kind;
    known.push_back(schedule.name);
  }
  return bad_input("unknown schedule \"" + std::string(wanted) + "\"", names.schedule,
                   suggestion(wanted, known));
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
  return std::find_if(kSchedules.begin(), kSchedules.end(),
                      [kind](const Named& s) { return s.kind == kind; })
      ->name;
}

Result<Options> read_options(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  if (const auto fine = torch::check_axes(layout, {"pp", "vpp"}); !fine)
    return tl::unexpected(fine.error());
  if (layout.pp && *layout.pp != layout.gpus)
    return unsupported("data parallelism inside stages is not modelled", "--pp",
                       std::to_string(layout.gpus) + ", the number of GPUs");
  const Result<Config> json = torch::read_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  if (const auto fine = check_recipe(recipe); !fine) return tl::unexpected(fine.error());
  Options options;
  options.ranks = layout.gpus;
  const auto schedule = find_schedule(
      json->optional_text("schedule").value_or(layout.schedule.empty() ? "1F1B" : layout.schedule));
  if (!schedule) return tl::unexpected(schedule.error());
  options.schedule = *schedule;
  options.stages_per_rank = json->optional_dimension("stages_per_rank")
                                .value_or(layout.vpp.value_or(is_single(*schedule) ? 1 : 2));
  const auto in_strategy = json->optional_dimension({"microbatches", "n_microbatches"});
  // 1 says that nothing beside the schedule accumulates.
  if (in_strategy && recipe.names_gradient_accumulation && recipe.gradient_accumulation != 1 &&
      *in_strategy != recipe.gradient_accumulation)
    return bad_input("a schedule accumulates over its micro-batches, which are " +
                         std::to_string(*in_strategy) + " in --strategy",
                     "--gradient-accumulation", "one of the two, or the same number");
  options.names_microbatches = in_strategy || recipe.names_gradient_accumulation;
  options.microbatches = in_strategy                          ? *in_strategy
                         : recipe.names_gradient_accumulation ? recipe.gradient_accumulation
                                                              : options.stages();
  options.return_outputs = json->boolean("return_outputs", true);
  options.layers = json->integers("layers");
  const auto in_float = read_loss(json->optional_text("loss"));
  if (!in_float) return tl::unexpected(in_float.error());
  options.loss_in_float = *in_float;
  if (const auto fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (options.microbatches > kMostMicrobatches)
    return bad_input(std::to_string(options.microbatches) + " micro-batches",
                     "--strategy: microbatches", std::to_string(kMostMicrobatches) + " or fewer");
  if (const auto fine = check_schedule(options); !fine) return tl::unexpected(fine.error());
  if (splits_backward(options.schedule) && recipe.checkpointing != Checkpointing::none)
    return unsupported("checkpointing where the backward is split is not modelled",
                       "--gradient-checkpointing", "none, or a schedule such as Interleaved1F1B");
  return options;
}

TrainRecipe resolved(TrainRecipe recipe) {
  const Result<Options> options = read_options(recipe);
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

Result<std::vector<std::int64_t>> layers_by_stage(const Options& options, std::int64_t layers) {
  const std::int64_t stages = options.stages();
  if (options.layers.empty()) {
    if (layers % stages != 0)
      return bad_input(
          std::to_string(layers) + " layers do not divide over " + std::to_string(stages) +
              " stages",
          "--gpus",
          torch::divisors_of(layers) +
              " stages; or say how many layers each holds: --strategy '{\"layers\": [...]}'");
    return std::vector<std::int64_t>(static_cast<std::size_t>(stages), layers / stages);
  }
  const bool usable =
      static_cast<std::int64_t>(options.layers.size()) == stages &&
      std::all_of(options.layers.begin(), options.layers.end(),
                  [&](std::int64_t n) { return n >= 0 && n <= layers; }) &&
      std::accumulate(options.layers.begin(), options.layers.end(), std::int64_t{0}) == layers;
  if (!usable)
    return bad_input("not the model's layers", "--strategy: layers",
                     std::to_string(stages) + " numbers that add up to " + std::to_string(layers));
  return options.layers;
}

}  // namespace memtape::torch_pp
