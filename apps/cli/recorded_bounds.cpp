// SPDX-License-Identifier: Apache-2.0
#include "recorded_bounds.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace memtape::cli {
namespace {

bool is_flash_backward(const StepTapeEvent& event) {
  return event.node.find("FlashAttentionBackward") != std::string::npos;
}

bool is_convolution(const StepTapeEvent& event) {
  return event.node.starts_with("ConvolutionBackward") ||
         event.op.find("convolution") != std::string::npos;
}

Bytes largest(std::span<const StepTapeEvent> step, bool (*counts)(const StepTapeEvent&)) {
  Bytes most = 0;
  for (const StepTapeEvent& event : step)
    if (event.is_alloc && counts(event)) most = std::max(most, event.bytes);
  return most;
}

/// How far that workspace would rise above the peak, where the step is at its convolutions.
Bytes excess_of(std::span<const StepTapeEvent> step, Bytes workspace) {
  std::unordered_map<std::int64_t, Bytes> sizes;
  Bytes alive = 0, most = 0, most_at_convolutions = 0;
  for (const StepTapeEvent& event : step) {
    if (event.is_alloc) sizes[event.number] = event.bytes;
    alive += event.is_alloc ? event.bytes : -sizes[event.number];
    most = std::max(most, alive);
    if (event.is_alloc && is_convolution(event))
      most_at_convolutions = std::max(most_at_convolutions, alive + workspace);
  }
  return std::max<Bytes>(most_at_convolutions - most, 0);
}

}  // namespace

LibraryChoices library_choices(std::span<const StepTapeEvent> step) {
  LibraryChoices choices{.flash_scratch = largest(step, is_flash_backward),
                         .convolution_excess = {}};
  if (const Bytes workspace = largest(step, is_convolution); workspace > 0)
    choices.convolution_excess = excess_of(step, workspace);
  return choices;
}

void judge_recorded(Prediction& prediction) {
  if (!prediction.device) return;
  const Bytes total = prediction.device->total_bytes;
  const RankReport& rank = prediction.ranks.front();
  Bounds& bounds = prediction.bounds;
  prediction.headroom_bytes = total - rank.peak_device_bytes;
  prediction.fits = *prediction.headroom_bytes >= 0;
  const Bytes cached = rank.peak.reserved - std::min(rank.peak.allocated, rank.peak.reserved);
  if (!*prediction.fits && bounds.low_bytes > total && bounds.low_bytes - cached <= total) {
    bounds.low_bytes = total;
    bounds.causes.emplace_back("what is cached goes back to the driver where memory runs out");
  }
  if (*prediction.fits)
    prediction.verdict = bounds.high_bytes <= total ? VerdictWord::fits : VerdictWord::may_not_fit;
  else
    prediction.verdict =
        bounds.low_bytes <= total ? VerdictWord::may_not_fit : VerdictWord::does_not_fit;
}

}  // namespace memtape::cli
