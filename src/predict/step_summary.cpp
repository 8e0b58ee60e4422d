// SPDX-License-Identifier: Apache-2.0
#include "predict/step_summary.h"

#include <algorithm>
#include <array>
#include <span>

#include "framework/torch/train_loop.h"
#include "predict/program.h"
#include "predict/step_play.h"

namespace memtape {
namespace {

/// Bytes taken (positive) and given back (negative), event by event.
using HeldChanges = std::vector<Bytes>;

/// The measured step of one model: the level it starts from and its windows.
struct SmallStep {
  Bytes steady = 0;
  std::vector<HeldChanges> windows;
};

Summary summary_of(std::span<const Bytes> changes) {
  Summary summary;
  for (const Bytes change : changes) {
    summary.delta += change;
    summary.peak = std::max(summary.peak, summary.delta);
  }
  return summary;
}

SmallStep small_step(const Tape& tape) {
  SmallStep step;
  const std::size_t first = first_event_of_step(tape, torch::kSteps - 1);
  for (std::size_t at = 0; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    const Bytes bytes = event.kind == EventKind::mark ? 0 : tape.requested[event.block];
    const Bytes change = event.kind == EventKind::alloc  ? bytes
                         : event.kind == EventKind::free ? -bytes
                                                         : 0;
    if (at < first) {
      step.steady += change;
    } else if (event.kind == EventKind::mark) {
      step.windows.emplace_back();
    } else if (!step.windows.empty()) {
      step.windows.back().push_back(change);
    }
  }
  return step;
}

constexpr std::array<const char*, 4> kLayerKeys{"num_hidden_layers", "n_layer", "num_layers",
                                                "n_layers"};

std::optional<const char*> layer_key(const Config& config) {
  const auto known = std::find_if(kLayerKeys.begin(), kLayerKeys.end(),
                                  [&](const char* key) { return config.has(key); });
  return known == kLayerKeys.end() ? std::nullopt : std::optional(*known);
}

/// The configuration with another number of layers; lists with an entry per layer cannot follow,
/// and two stacks have no one number, so there is none then.
std::optional<Config> with_layers(const Config& config, std::int64_t layers) {
  for (const char* key : {"layer_types", "mlp_layer_types", "attention_types", "encoder_layers"})
    if (config.has(key)) return std::nullopt;
  return with_so_many_layers(config, layers);
}

std::int64_t layers_of(const Config& config) {
  const auto key = layer_key(config);
  return key ? config.layers(*key) : StepSummary::kLeastLayers;
}

Result<SmallStep> run_step(const Config& config, const TrainRecipe& recipe,
                           const ghost::DeviceTraits& device) {
  const Result<torch::TrainRun> run = run_program(config, recipe, device);
  if (!run) return tl::unexpected(run.error());
  return small_step(run->tape);
}

}  // namespace

Config with_so_many_layers(const Config& config, std::int64_t layers) {
  return config.with_integer(layer_key(config).value_or(kLayerKeys[0]), layers);
}

class SummaryBuilder {
 public:
  /// From the steps of models with kLeastLayers, one more and two more layers.
  static std::optional<StepSummary> build(const std::array<SmallStep, 3>& steps) {
    StepSummary summary;
    const std::optional<StepSummary::Line> steady =
        line({steps[0].steady, steps[1].steady, steps[2].steady});
    if (!steady || steps[0].windows.size() != steps[1].windows.size() ||
        steps[1].windows.size() != steps[2].windows.size())
      return std::nullopt;
    summary.steady_ = *steady;
    for (std::size_t i = 0; i < steps[0].windows.size(); ++i) {
      const std::array<const HeldChanges*, 3> windows{&steps[0].windows[i], &steps[1].windows[i],
                                                      &steps[2].windows[i]};
      std::optional<StepSummary::Stretch> stretch = block_stretch(windows);
      if (!stretch) stretch = line_stretch(windows);
      if (!stretch) return std::nullopt;
      summary.windows_.push_back(*stretch);
    }
    return summary;
  }

  /// Whether the summary says of a whole model what its own tape says.
  static bool agrees(const StepSummary& summary, const SmallStep& step, std::int64_t layers) {
    if (layers < StepSummary::kLeastLayers) return true;
    Summary exact;
    for (const HeldChanges& window : step.windows) exact = exact.then(summary_of(window));
    return summary.steady_requested(layers) == step.steady &&
           summary.peak_requested(layers) == step.steady + exact.peak;
  }

 private:
  using Windows = std::array<const HeldChanges*, 3>;

  static std::optional<StepSummary::Line> line(const std::array<Bytes, 3>& values) {
    if (values[1] - values[0] != values[2] - values[1]) return std::nullopt;
    return StepSummary::Line{values[0], values[1] - values[0]};
  }

  /// The second window is the first with a block put in; the third is the second with the same
  /// block put in again.
  static std::optional<StepSummary::Stretch> block_stretch(const Windows& windows) {
    const HeldChanges &small = *windows[0], &middle = *windows[1], &large = *windows[2];
    if (middle.size() < small.size() ||
        large.size() - middle.size() != middle.size() - small.size())
      return std::nullopt;
    const std::size_t grown = middle.size() - small.size();
    const auto head = static_cast<std::size_t>(
        std::mismatch(small.begin(), small.end(), middle.begin()).first - small.begin());
    const std::size_t tail = small.size() - head;
    const bool inserted = std::equal(small.begin() + static_cast<std::ptrdiff_t>(head), small.end(),
                                     middle.end() - static_cast<std::ptrdiff_t>(tail));
    const std::span<const Bytes> block(middle.data() + head, grown);
    if (!inserted ||
        !std::equal(middle.begin(), middle.begin() + static_cast<std::ptrdiff_t>(head + grown),
                    large.begin()) ||
        !std::equal(block.begin(), block.end(),
                    large.begin() + static_cast<std::ptrdiff_t>(head + grown)) ||
        !std::equal(small.begin() + static_cast<std::ptrdiff_t>(head), small.end(),
                    large.end() - static_cast<std::ptrdiff_t>(tail)))
      return std::nullopt;
    StepSummary::Stretch stretch;
    stretch.head = summary_of({small.data(), head});
    stretch.block = summary_of(block);
    stretch.tail = summary_of({small.data() + head, tail});
    return stretch;
  }

  static std::optional<StepSummary::Stretch> line_stretch(const Windows& windows) {
    std::array<Bytes, 3> deltas{}, peaks{};
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const Summary summary = summary_of(*windows[i]);
      deltas[i] = summary.delta;
      peaks[i] = summary.peak;
    }
    const std::optional<StepSummary::Line> delta = line(deltas), peak = line(peaks);
    if (!delta || !peak) return std::nullopt;
    StepSummary::Stretch stretch;
    stretch.is_line = true;
    stretch.delta = *delta;
    stretch.peak = *peak;
    return stretch;
  }
};

Summary StepSummary::Stretch::at(std::int64_t layers) const {
  if (is_line) return {delta.at(layers), peak.at(layers)};
  return head.then(block.times(layers - kLeastLayers)).then(tail);
}

Bytes StepSummary::peak_requested(std::int64_t layers) const {
  Summary step;
  for (const Stretch& window : windows_) step = step.then(window.at(layers));
  return steady_.at(layers) + step.peak;
}

Result<std::optional<StepSummary>> summarize_step(const Config& config, const TrainRecipe& recipe,
                                                  const ghost::DeviceTraits& device) {
  std::array<SmallStep, 3> steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::optional<Config> small =
        with_layers(config, StepSummary::kLeastLayers + static_cast<std::int64_t>(i));
    if (!small) return std::nullopt;
    const Result<SmallStep> step = run_step(*small, recipe, device);
    if (!step) return tl::unexpected(step.error());
    steps[i] = *step;
  }
  const std::optional<StepSummary> summary = SummaryBuilder::build(steps);
  if (!summary) return std::nullopt;
  const Result<SmallStep> whole = run_step(config, recipe, device);
  if (!whole) return tl::unexpected(whole.error());
  return SummaryBuilder::agrees(*summary, *whole, layers_of(config)) ? summary : std::nullopt;
}

}  // namespace memtape
