// SPDX-License-Identifier: Apache-2.0
#include "predict/rank_report.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "report/largest.h"

namespace memtape {
namespace {

constexpr std::array kStepPhases{Phase::prepare,   Phase::forward,   Phase::backward,
                                 Phase::schedule,  Phase::clip,      Phase::optimizer,
                                 Phase::zero_grad, Phase::evaluation};

/// Under which name a window is reported: where forwards and backwards take turns they are one.
Phase reported_phase(Phase phase, bool is_pipeline) {
  const bool turn = phase == Phase::forward || phase == Phase::backward;
  return is_pipeline && turn ? Phase::schedule : phase;
}

/// The window of a phase with the highest allocated peak (the first of several alike), its levels
/// raised to each level's own maximum over all windows of the phase.
std::optional<Window> highest_window(const Timeline& step, Phase phase, bool is_pipeline) {
  std::optional<Window> highest;
  Levels peak;
  for (const Window& window : step.windows) {
    if (reported_phase(window.mark.phase, is_pipeline) != phase) continue;
    if (!highest || window.peak.allocated > highest->peak.allocated) highest = window;
    peak.raise_to(window.peak);
  }
  if (highest) {
    highest->peak = peak;
    highest->mark.phase = phase;
  }
  return highest;
}

PeakMoment moment(const Tape& tape, std::size_t event) {
  while (event > 0 && tape.events[event].kind == EventKind::mark) --event;
  const Why why = tape.why[tape.events[event].block];
  return {.event = event, .module = tape.scopes.path(why.scope), .op = why.op, .node = why.node};
}

/// The step's forwards and backwards; one may be cut into several windows.
std::vector<Pass> passes_of(const Timeline& step) {
  std::vector<Pass> passes;
  for (const Window& window : step.windows) {
    const Mark& mark = window.mark;
    const bool turn = mark.phase == Phase::forward || mark.phase == Phase::backward;
    if (!turn || window.first_event == window.last_event) continue;
    const bool goes_on = !passes.empty() && passes.back().phase == mark.phase &&
                         passes.back().stage == mark.stage &&
                         passes.back().micro_batch == mark.micro_batch;
    if (!goes_on) passes.push_back({mark.phase, mark.stage, mark.micro_batch});
  }
  // What comes before the first stage's forward, such as the batch, is marked as stage 0's.
  std::set<std::pair<int, int>> backwards;
  for (const Pass& p : passes)
    if (p.phase == Phase::backward) backwards.emplace(p.stage, p.micro_batch);
  std::erase_if(passes, [&](const Pass& p) {
    return p.phase == Phase::forward && !backwards.contains({p.stage, p.micro_batch});
  });
  return passes;
}

}  // namespace

RankReport levels_report(const torch::TrainRun& run, const StepPlay& play, Bytes outside) {
  RankReport report;
  report.parameter_bytes = run.statics.parameter_bytes;
  report.buffer_bytes = run.statics.buffer_bytes;
  report.optimizer_state_bytes = run.statics.optimizer_state_bytes;
  report.gradient_bytes = run.statics.gradient_bytes;
  if (!play.step.windows.empty()) report.steady = play.step.windows.front().at_start;
  for (const Phase phase : kStepPhases) {
    const std::optional<Window> window = highest_window(play.step, phase, run.is_pipeline);
    if (!window) continue;
    if (window->peak.allocated > report.peak.allocated) {
      report.peak_phase = window->mark.phase;
      report.peak_moment.event = window->peak_event;
    }
    report.peak.raise_to(window->peak);
    report.phases.push_back({.phase = phase, .peak = window->peak, .at_peak = {}});
  }
  report.peak_device_bytes = report.peak.reserved + outside;
  return report;
}

RankReport rank_report(const torch::TrainRun& run, const StepPlay& play, Bytes outside,
                       std::size_t largest) {
  const Tape& tape = run.tape;
  RankReport report = levels_report(run, play, outside);
  if (report.phases.empty()) return report;
  const Lifetimes lifetimes(tape);
  for (PhaseReport& phase : report.phases) {
    const Window window = *highest_window(play.step, phase.phase, run.is_pipeline);
    phase.at_peak = lifetimes.alive_by_category(play.played.sizes, window.peak_event);
    if (phase.phase == report.peak_phase) report.at_peak = phase.at_peak;
  }
  report.peak_moment = moment(tape, report.peak_moment.event);
  report.passes = passes_of(play.step);
  const std::vector<BlockId> at_peak = lifetimes.alive(report.peak_moment.event);
  report.largest = report::largest_tensors(tape, play.played.sizes, at_peak, largest);
  return report;
}

}  // namespace memtape
