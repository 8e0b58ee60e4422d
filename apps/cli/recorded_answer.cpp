// SPDX-License-Identifier: Apache-2.0
#include "recorded_answer.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer/device_options.h"
#include "phantom/step_cache.h"
#include "predict/device_summary.h"
#include "predict/outside.h"
#include "predict/program.h"
#include "predict/rank_runs.h"
#include "predict/releases_meant.h"
#include "real_question.h"
#include "recorded_bounds.h"

namespace memtape::cli {
namespace {

using AnswerJson = nlohmann::json;

Bytes figure(const AnswerJson& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found != figures.end() && found->is_number_integer() ? found->get<Bytes>() : 0;
}

Levels levels_of(const AnswerJson& figures, const std::string& when) {
  Levels levels;
  levels.requested = figure(figures, when + "_requested_bytes");
  levels.allocated = figure(figures, when + "_allocated_bytes");
  levels.reserved = figure(figures, when + "_reserved_bytes");
  return levels;
}

std::optional<Phase> phase_named(std::string_view text) {
  const auto found = std::ranges::find(kPhaseNames, text);
  if (found == kPhaseNames.end()) return std::nullopt;
  return static_cast<Phase>(found - kPhaseNames.begin());
}

/// What is held throughout the step is known by its kind, the rest is not.
CategoryBytes categories_of(const RankReport& rank, Bytes allocated) {
  CategoryBytes bytes{};
  Bytes left = allocated;
  const auto put = [&](Category category, Bytes held) {
    const Bytes taken = std::min(held, left);
    bytes[category] = taken;
    left -= taken;
  };
  put(Category::parameter, rank.parameter_bytes);
  put(Category::buffer, rank.buffer_bytes);
  put(Category::optimizer_state, rank.optimizer_state_bytes);
  put(Category::unknown, left);
  return bytes;
}

RankReport rank_of(const AnswerJson& figures) {
  RankReport rank;
  rank.parameter_bytes = figure(figures, "parameter_bytes");
  rank.buffer_bytes = figure(figures, "buffer_bytes");
  rank.optimizer_state_bytes = figure(figures, "optimizer_state_bytes");
  rank.gradient_bytes = figure(figures, "gradient_bytes");
  rank.peak = levels_of(figures, "peak");
  rank.steady = levels_of(figures, "steady");
  rank.at_peak = categories_of(rank, rank.peak.allocated);
  if (const auto phase = phase_named(figures.value("peak_phase", ""))) rank.peak_phase = *phase;
  const AnswerJson phases = figures.value("phases", AnswerJson::object());
  for (const std::string_view name : kPhaseNames) {
    const auto found = phases.find(std::string(name));
    if (found == phases.end()) continue;
    const Levels peak = levels_of(*found, "peak");
    rank.phases.push_back({.phase = *phase_named(name),
                           .peak = peak,
                           .at_peak = categories_of(rank, peak.allocated)});
  }
  return rank;
}

Result<phantom_run::KeptStep> run_or_find(const RealQuestion& question, const std::string& python) {
  const phantom_run::StepRequest step = step_of(question, python);
  const Result<std::string> script = phantom_run::step_script(step, "FOLDER");
  if (!script) return tl::unexpected(script.error());
  const std::string key = phantom_run::step_key(step, *script, releases_in_words(question.recipe));
  if (auto kept = phantom_run::find_kept_step(key)) return std::move(*kept);
  const auto folder = phantom_run::RunFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  auto real = phantom_run::run_step(step, *folder);
  if (!real) {
    Error error = real.error();
    error.hint +=
        "; an interpreter that can: python3 -m venv .venv && .venv/bin/pip install torch "
        "transformers accelerate peft, then --python .venv/bin/python";
    return tl::unexpected(std::move(error));
  }
  const auto events = parse_step_tape(real->tape_text, "the recorded step");
  if (!events) return tl::unexpected(events.error());
  phantom_run::KeptStep step_kept{real->stack, real->expect_json, library_choices(*events)};
  phantom_run::keep_step(key, step_kept);
  return step_kept;
}

}  // namespace

Result<TrainAnswer> recorded_answer(const answer::RawOptions& options) {
  const Result<RealQuestion> question = real_question(options);
  if (!question) return tl::unexpected(question.error());
  const std::string* python = last_value(options.values, "python");
  const auto step = run_or_find(*question, python ? *python : std::string());
  if (!step) return tl::unexpected(step.error());
  const AnswerJson figures = AnswerJson::parse(step->expect_json, nullptr, false);
  TrainAnswer answer;
  Prediction& prediction = answer.prediction;
  const DeviceSetup& device = question->request.device;
  RankReport rank = rank_of(figures);
  rank.outside = outside_memory(question->recipe, device);
  rank.peak_device_bytes = rank.peak.reserved + device.context_bytes();
  prediction.source = "recorded";
  prediction.model = {.id = question->source.id,
                      .family = question->source.config->text("model_type", ""),
                      .parameters = figure(figures, "parameters"),
                      .trainable_parameters = figure(figures, "trainable_parameters"),
                      .weight_bytes = rank.parameter_bytes};
  prediction.workload = question->settings;
  std::ranges::move(release_settings(question->recipe), std::back_inserter(prediction.workload));
  prediction.mesh = mesh_settings(question->recipe);
  prediction.releases = step->stack + " (recorded)";
  prediction.device = device_summary(device);
  prediction.bounds = bounds_about(rank, step->choices, device);
  prediction.ranks.push_back(std::move(rank));
  prediction.warnings.push_back("these are the figures of the real step, run by " + step->stack +
                                " on a phantom GPU: what a block is for is known of parameters "
                                "and optimizer state alone");
  judge_recorded(prediction);
  return answer;
}

}  // namespace memtape::cli
