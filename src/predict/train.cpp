// SPDX-License-Identifier: Apache-2.0
#include "predict/train.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/torch/train_loop.h"
#include "predict/advice.h"
#include "predict/bounds.h"
#include "predict/compiled_bounds.h"
#include "predict/device_summary.h"
#include "predict/evaluation_bounds.h"
#include "predict/outside.h"
#include "predict/program.h"
#include "predict/rank_report.h"
#include "predict/settings.h"
#include "predict/step_play.h"
#include "predict/step_trace.h"
#include "predict/train_warnings.h"
#include "predict/unmodelled_bounds.h"
#include "predict/verdict.h"
#include "workload/device_traits.h"

namespace memtape {
namespace {

constexpr int kMeasuredStep = torch::kSteps - 1;

/// What is taken outside the allocator: the CUDA context and its modules.
Bytes outside_of(const DeviceSetup& device) {
  return device.context_bytes.value_or(device.gpu ? device.gpu->context_bytes : 0);
}

std::optional<Bytes> total_of(const DeviceSetup& device) {
  if (device.total_bytes) return device.total_bytes;
  return device.gpu ? std::optional(device.gpu->total_bytes) : std::nullopt;
}

ModelSummary model_summary(const ModelRequest& model, const TrainRecipe& recipe,
                           const torch::StaticBytes& statics) {
  return {.id = model.id,
          .family = model.config.text("model_type", ""),
          .parameters = statics.parameters,
          .trainable_parameters = statics.trainable_parameters,
          .weight_bytes = statics.weight_bytes,
          .of_one_rank = recipe.framework == Framework::megatron_core && recipe.layout.gpus > 1};
}

void judge(TrainAnswer& answer, const torch::TrainRun& run, const DeviceSetup& device,
           const StepPlay& play) {
  const std::optional<Bytes> total = total_of(device);
  if (!total) return;
  const Verdict found = verdict(run.tape, device, {.total = *total, .outside = outside_of(device)},
                                play, kMeasuredStep);
  answer.prediction.fits = found.fits;
  answer.prediction.headroom_bytes = found.headroom_bytes;
  answer.prediction.failure = found.failure;
}

/// The rank that rises highest: its tape is what verdict, bounds and pictures go by.
struct FullestRank {
  torch::TrainRun run;
  StepPlay play;
};

bool same_numbers(const RankReport& a, const RankReport& b) {
  const auto same = [](const Levels& x, const Levels& y) {
    return x.requested == y.requested && x.allocated == y.allocated && x.reserved == y.reserved;
  };
  if (a.stage != b.stage || a.phases.size() != b.phases.size()) return false;
  for (std::size_t i = 0; i < a.phases.size(); ++i)
    if (!same(a.phases[i].peak, b.phases[i].peak)) return false;
  return same(a.peak, b.peak) && same(a.steady, b.steady) &&
         a.parameter_bytes == b.parameter_bytes && a.buffer_bytes == b.buffer_bytes &&
         a.optimizer_state_bytes == b.optimizer_state_bytes && a.gradient_bytes == b.gradient_bytes;
}

/// Adds a report, or its ranks to the one that says the same.
void add_report(std::vector<RankReport>& reports, RankReport report) {
  for (RankReport& known : reports) {
    if (!same_numbers(known, report)) continue;
    known.ranks.insert(known.ranks.end(), report.ranks.begin(), report.ranks.end());
    std::sort(known.ranks.begin(), known.ranks.end());
    return;
  }
  reports.push_back(std::move(report));
}

/// Fullest first; but the report that holds the last rank of all comes last, so that it is found
/// without knowing how many ranks there are.
void put_in_order(std::vector<RankReport>& reports) {
  std::stable_sort(reports.begin(), reports.end(), [](const RankReport& a, const RankReport& b) {
    return a.peak_device_bytes > b.peak_device_bytes;
  });
  const auto last = std::max_element(
      reports.begin(), reports.end(),
      [](const auto& a, const auto& b) { return a.ranks.back() < b.ranks.back(); });
  std::rotate(last, last + 1, reports.end());
}

/// Runs one rank of each kind.
Result<FullestRank> run_ranks(const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const PredictOptions& options,
                              std::vector<RankReport>& reports) {
  const Result<std::vector<torch::RankClass>> classes = reported_ranks(config, recipe);
  if (!classes) return tl::unexpected(classes.error());
  std::optional<FullestRank> fullest;
  Bytes highest = -1;
  for (const torch::RankClass& alike : *classes) {
    Result<torch::TrainRun> run =
        run_program(config, recipe, device_traits(device), alike.ranks.front());
    if (!run) return tl::unexpected(run.error());
    StepPlay play = play_program(run->tape, device, {}, kMeasuredStep, options.trace);
    if (play.before.out_of_memory || play.step.out_of_memory)
      return bad_input("needs more memory than a device has addresses for (32 TiB)", "the step",
                       "check the sizes of the model and of the batch");
    RankReport report = rank_report(*run, play, outside_of(device), options.largest);
    report.ranks = alike.ranks;
    report.stage = alike.stage;
    report.outside = outside_memory(recipe, device);
    if (report.peak_device_bytes > highest) {
      highest = report.peak_device_bytes;
      fullest.emplace(FullestRank{std::move(*run), std::move(play)});
    }
    add_report(reports, std::move(report));
  }
  put_in_order(reports);
  return std::move(*fullest);
}

}  // namespace

ghost::DeviceTraits device_traits(const DeviceSetup& device) { return device_traits(device.gpu); }

Result<TrainAnswer> predict_train(const ModelRequest& model, const TrainRecipe& asked,
                                  const DeviceSetup& device, const PredictOptions& options) {
  if (device.gpu && !device.gpu->runs_cuda())
    return unsupported(fmt::format("{} does not run CUDA", device.gpu->name), "--gpu",
                       "memtape gpus lists those that do");
  const TrainRecipe recipe = resolved(asked, model.config);
  TrainAnswer answer;
  Prediction& prediction = answer.prediction;
  Result<FullestRank> fullest = run_ranks(model.config, recipe, device, options, prediction.ranks);
  if (!fullest) return tl::unexpected(fullest.error());
  torch::TrainRun* const run = &fullest->run;
  StepPlay& play = fullest->play;
  const RankReport& peak = *std::max_element(
      prediction.ranks.begin(), prediction.ranks.end(),
      [](const auto& a, const auto& b) { return a.peak_device_bytes < b.peak_device_bytes; });
  prediction.peak_rank = peak.ranks.front();
  prediction.model = model_summary(model, recipe, run->statics);
  prediction.workload = resolved_settings(recipe);
  prediction.mesh = mesh_settings(recipe);
  prediction.device = device_summary(device.gpu, {device.total_bytes, device.context_bytes});
  prediction.bounds = bounds_of(run->tape, device, peak, recipe.expert_load);
  if (const auto done = widen_by_compile(prediction.bounds, model.config, recipe,
                                         {.device = device, .rank = peak});
      !done)
    return tl::unexpected(done.error());
  if (const auto done = widen_by_evaluation(prediction.bounds, model.config, recipe, device); !done)
    return tl::unexpected(done.error());
  widen_by_not_modelled(prediction.bounds, recipe, peak);
  add_train_warnings(model, recipe, prediction.warnings);
  if (std::string said = compile_warning(recipe); !said.empty())
    prediction.warnings.push_back(std::move(said));
  if (!recipe.freeze.empty() && run->statics.trainable_parameters == run->statics.parameters)
    prediction.warnings.push_back("--freeze: no parameter has such a name: nothing is frozen");
  if (run->statics.managed_bytes > 0)
    prediction.warnings.push_back(fmt::format(
        "{} of optimizer state lie in managed memory: outside these figures, and on the device "
        "while the optimizer runs, as far as there is room",
        human_bytes(run->statics.managed_bytes)));
  if (!device.gpu)
    prediction.warnings.push_back(
        "no --gpu named: kernels choose as on compute capability 8.0 (A100)");
  judge(answer, *run, device, play);
  if (options.advise && prediction.fits == false)
    prediction.advice = advise(model, recipe, device, peak.peak_device_bytes);
  if (options.trace) answer.trace = trace_of(std::move(run->tape), std::move(play), kMeasuredStep);
  return answer;
}

}  // namespace memtape
