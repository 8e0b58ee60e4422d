// SPDX-License-Identifier: Apache-2.0
#include "predict/bounds.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "ghost/ops/attention_choice.h"

namespace memtape {
namespace {

Bytes flash_scratch(const Tape& tape) {
  Bytes largest = 0;
  for (BlockId block = 0; block < tape.requested.size(); ++block)
    if (tape.why[block].role == Role::flash_backward)
      largest = std::max(largest, tape.requested[block]);
  return largest;
}

/// By what lies outside the allocator and is known as a range only.
void widen_by_outside(Bounds& bounds, const RankReport& rank) {
  Bytes low = rank.peak.reserved, high = rank.peak.reserved;
  for (const OutsideMemory& item : rank.outside) {
    low += item.low_bytes;
    high += item.high_bytes;
    if (item.low_bytes != item.high_bytes)
      bounds.causes.push_back(fmt::format("{} takes {} to {}", item.what,
                                          human_bytes(item.low_bytes),
                                          human_bytes(item.high_bytes)));
  }
  bounds.low_bytes = std::min(bounds.low_bytes, low);
  bounds.high_bytes = std::max(bounds.high_bytes, high);
}

void widen_by_cudnn(Bounds& bounds, Bytes scratch, const DeviceSetup& device) {
  if (scratch == 0 || !ghost::prefers_cudnn_attention(device_traits(device))) return;
  bounds.low_bytes -= scratch;
  bounds.high_bytes += scratch;
  bounds.causes.push_back(
      "torch may prefer cuDNN's attention here, whose workspace is not modelled (the figures are "
      "those of "
      "torch.backends.cuda.enable_cudnn_sdp(False))");
}

std::optional<Bytes> convolution_excess(const Tape& tape) {
  const auto convolves = [&](BlockId block) { return tape.why[block].role == Role::convolution; };
  Bytes workspace = 0;
  for (BlockId block = 0; block < tape.requested.size(); ++block)
    if (convolves(block)) workspace = std::max(workspace, tape.requested[block]);
  if (workspace == 0) return std::nullopt;
  Bytes alive = 0, most = 0, most_at_convolutions = 0;
  for (const Event& event : tape.events) {
    if (event.kind != EventKind::alloc && event.kind != EventKind::free) continue;
    const bool allocates = event.kind == EventKind::alloc;
    alive += allocates ? tape.requested[event.block] : -tape.requested[event.block];
    most = std::max(most, alive);
    if (allocates && convolves(event.block))
      most_at_convolutions = std::max(most_at_convolutions, alive + workspace);
  }
  return std::max<Bytes>(most_at_convolutions - most, 0);
}

void widen_by_convolutions(Bounds& bounds, std::optional<Bytes> excess) {
  if (!excess) return;
  bounds.high_bytes += *excess;
  bounds.causes.push_back(
      "cuDNN chooses the workspace of its convolutions itself: the figures are without it, the "
      "upper bound with one as large as their largest result");
}

/// By as much again as the allocator holds beside what is in use at its peak: where many rounds of a
/// pipeline are left out, its blocks may come to lie closer together or farther apart than in those
/// that were followed.
void widen_by_rounds(Bounds& bounds, std::int64_t rounds, const RankReport& rank) {
  const Bytes beside = rank.peak.reserved - std::min(rank.peak.allocated, rank.peak.reserved);
  if (rounds == 0 || beside == 0) return;
  bounds.low_bytes -= beside;
  bounds.high_bytes += beside;
  bounds.causes.push_back(
      fmt::format("the last {} micro-batches are not followed; the allocator may place them "
                  "otherwise than those before",
                  rounds));
}

}  // namespace

Bounds bounds_about(const RankReport& rank, const LibraryChoices& choices,
                    const DeviceSetup& device) {
  Bounds bounds{
      .low_bytes = rank.peak_device_bytes, .high_bytes = rank.peak_device_bytes, .causes = {}};
  widen_by_outside(bounds, rank);
  widen_by_cudnn(bounds, choices.flash_scratch, device);
  widen_by_convolutions(bounds, choices.convolution_excess);
  return bounds;
}

Bounds bounds_of(const torch::TrainRun& run, const DeviceSetup& device, const RankReport& rank) {
  Bounds bounds = bounds_about(rank,
                               {.flash_scratch = flash_scratch(run.tape),
                                .convolution_excess = convolution_excess(run.tape)},
                               device);
  widen_by_rounds(bounds, run.rounds_not_followed, rank);
  return bounds;
}

}  // namespace memtape
