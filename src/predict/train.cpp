// SPDX-License-Identifier: Apache-2.0
#include "predict/train.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/dialects.h"
#include "framework/torch/train_loop.h"
#include "ghost/device_traits.h"
#include "model/type_of.h"
#include "predict/advice.h"
#include "predict/bounds.h"
#include "predict/compiled_bounds.h"
#include "predict/device_summary.h"
#include "predict/engine_beside.h"
#include "predict/evaluation_bounds.h"
#include "predict/outside.h"
#include "predict/program.h"
#include "predict/rank_runs.h"
#include "predict/release_bounds.h"
#include "predict/releases_meant.h"
#include "predict/routing_bounds.h"
#include "predict/settings.h"
#include "predict/step_play.h"
#include "predict/step_trace.h"
#include "predict/train_warnings.h"
#include "predict/unmodelled_bounds.h"
#include "predict/unread_release.h"
#include "predict/verdict.h"
#include "report/headline.h"

namespace memtape {
namespace {

ModelSummary model_summary(const ModelRequest& model, const TrainRecipe& recipe,
                           const torch::StaticBytes& statics) {
  return {.id = model.id,
          .family = type_of(model.config),
          .parameters = statics.parameters,
          .trainable_parameters = statics.trainable_parameters,
          .weight_bytes = statics.weight_bytes,
          .of_one_rank = dialect_of(recipe).counts_one_rank && recipe.layout.gpus > 1};
}

void add_device_warnings(const DeviceSetup& device, const torch::TrainRun& run,
                         std::vector<std::string>& warnings) {
  if (run.statics.managed_bytes > 0)
    warnings.push_back(fmt::format(
        "{} of optimizer state lie in managed memory: outside these figures, and on the device "
        "while the optimizer runs, as far as there is room",
        human_bytes(run.statics.managed_bytes)));
  if (!device.gpu)
    warnings.emplace_back("no --gpu named: kernels choose as on compute capability 8.0 (A100)");
}

/// A rank needs more than the device has.
void refuse(Prediction& prediction, Bytes headroom) {
  prediction.fits = false;
  prediction.verdict = VerdictWord::does_not_fit;
  prediction.headroom_bytes = headroom;
}

/// A rank fits, but not with all else taking the most that it may.
void leave_open(Prediction& prediction, const DeviceSetup& device, const RankReport& rank) {
  prediction.fits = true;
  prediction.verdict = VerdictWord::may_not_fit;
  prediction.headroom_bytes = *device.total_bytes() - rank.peak_device_bytes;
}

/// The bounds about the fullest rank.
Result<void> widen(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                   const DeviceSetup& device, const torch::TrainRun& run, const RankReport& peak) {
  bounds = bounds_of(run, device, peak);
  if (auto done = widen_by_compile(bounds, config, recipe, {.device = device, .rank = peak}); !done)
    return done;
  if (auto done = widen_by_evaluation(bounds, config, recipe, device); !done) return done;
  if (auto done = widen_by_routing(bounds, config, recipe, device, peak); !done) return done;
  widen_by_releases(bounds, config, recipe, peak);
  widen_by_images(bounds, config, recipe);
  widen_by_replicas(bounds, recipe, peak);
  widen_by_loading(bounds, recipe, run.statics.parameters);
  widen_by_not_modelled(bounds, recipe, peak);
  open_by_not_bounded(bounds, recipe, device);
  return {};
}

/// The device's memory, if that is known, and whether the central figure fits.
struct Judged {
  DeviceMemory memory;
  Verdict verdict;
};

std::optional<Judged> judged(const FullestRank& fullest, const DeviceSetup& device) {
  const std::optional<Bytes> total = device.total_bytes();
  if (!total) return std::nullopt;
  const DeviceMemory memory{.total = *total, .outside = device.context_bytes()};
  return Judged{memory, verdict(fullest.run.tape, device, memory, fullest.play, kMeasuredStep)};
}

void judge(Prediction& prediction, const torch::TrainRun& run, const DeviceSetup& device,
           const Judged& central) {
  const auto& [memory, found] = central;
  const Bytes peak = report::peak_rank(prediction).peak_device_bytes;
  const VerdictWord word =
      fit_within(prediction.bounds, peak, found, run.tape, device, memory, kMeasuredStep);
  prediction.fits = found.fits;
  prediction.verdict = word;
  prediction.headroom_bytes = found.headroom_bytes;
  prediction.failure = found.failure;
  const Bytes held = memory.total - found.headroom_bytes;
  if (found.gives_back && held != peak) prediction.within_limit_bytes = held;
  prediction.bounds = bounds_of_needed(std::move(prediction.bounds), peak,
                                       report::needed(prediction), found, word, memory.total);
}

void add_advice(const ModelRequest& model, const TrainRecipe& recipe, const DeviceSetup& device,
                const PredictOptions& options, Prediction& prediction) {
  prediction.advice = advise(model, recipe, device, *options.command, prediction, options.workers);
  prediction.nothing_helps = why_nothing_helps(prediction.advice, prediction.device->total_bytes);
}

}  // namespace

ghost::DeviceTraits device_traits(const DeviceSetup& device) {
  ghost::DeviceTraits traits = device_traits(device.gpu);
  if (const auto total = device.total_bytes()) traits.memory = *total - device.context_bytes();
  return traits;
}

Result<TrainAnswer> predict_train(const ModelRequest& model, const TrainRecipe& asked,
                                  const DeviceSetup& given, const PredictOptions& options) {
  if (given.gpu && !given.gpu->runs_cuda())
    return unsupported(fmt::format("{} does not run CUDA", given.gpu->name), "--gpu",
                       "memtape gpus lists those that do");
  const Result<TrainRecipe> settled = resolved(asked, model.config);
  if (!settled) return tl::unexpected(settled.error());
  const TrainRecipe& recipe = *settled;
  const DeviceSetup device = with_engine_beside(given, recipe);
  if (const auto fine = check_expert_load(model, recipe); !fine)
    return tl::unexpected(fine.error());
  TrainAnswer answer;
  Prediction& prediction = answer.prediction;
  Result<FullestRank> fullest =
      run_ranks(model.config, recipe, device, options, kMeasuredStep, prediction.ranks);
  if (!fullest) return tl::unexpected(fullest.error());
  torch::TrainRun* const run = &fullest->run;
  StepPlay& play = fullest->play;
  const RankReport& peak = *std::max_element(
      prediction.ranks.begin(), prediction.ranks.end(),
      [](const auto& a, const auto& b) { return a.peak_device_bytes < b.peak_device_bytes; });
  prediction.peak_rank = peak.ranks.front();
  prediction.model = model_summary(model, recipe, run->statics);
  prediction.workload = workload_settings(recipe);
  prediction.releases = releases_in_words(recipe);
  prediction.mesh = mesh_settings(recipe);
  prediction.device = device_summary(given);
  add_train_warnings(model, recipe, prediction.warnings);
  std::ranges::move(release_warnings(recipe), std::back_inserter(prediction.warnings));
  if (std::string said = unread_warning(model.config, recipe); !said.empty())
    prediction.warnings.push_back(std::move(said));
  if (std::string said = compile_warning(recipe); !said.empty())
    prediction.warnings.push_back(std::move(said));
  add_device_warnings(device, *run, prediction.warnings);
  if (fullest->cannot_fit) {
    refuse(prediction, *device.total_bytes() - peak.peak_device_bytes);
    return answer;
  }
  if (fullest->is_tight) {
    leave_open(prediction, device, peak);
    return answer;
  }
  const std::optional<Judged> central = judged(*fullest, device);
  if (options.until_too_large && central && !central->verdict.fits) {
    refuse(prediction, central->verdict.headroom_bytes);
    return answer;
  }
  if (const auto done = widen(prediction.bounds, model.config, recipe, device, *run, peak); !done)
    return tl::unexpected(done.error());
  if (central) judge(prediction, *run, device, *central);
  if (options.advise && options.command && prediction.fits == false)
    add_advice(model, recipe, given, options, prediction);
  if (options.trace) answer.trace = trace_of(std::move(run->tape), std::move(play), kMeasuredStep);
  return answer;
}

}  // namespace memtape
