// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/loading.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "mesh/nccl.h"
#include "timeline/play.h"

namespace memtape::vllm {
namespace {

struct PlayedStage {
  Levels peak;
  std::optional<OutOfMemory> failed;
};

/// On a device with `total` bytes.
PlayedStage played_on(Bytes total, const Tape& tape, const LoadingStage& stage,
                      const DeviceFacts& device, const AllocatorConfig& loading) {
  const std::unique_ptr<Driver> driver =
      make_driver(device.placement, {.total = total, .outside = device.context});
  CachingAllocator allocator(*driver);
  allocator.set_config(device.allocator);
  Played played;
  PlayedStage found;
  const auto take = [&](const PlayOptions& part) {
    const Timeline timeline = play(tape, allocator, played, part);
    for (const Window& window : timeline.windows) found.peak.raise_to(window.peak);
    if (!found.failed) found.failed = timeline.out_of_memory;
  };
  take({.to = stage.from});
  allocator.set_config(loading);
  if (!found.failed) take({.from = stage.from, .to = stage.to});
  return found;
}

LoadFailure failure_of(const Tape& tape, const OutOfMemory& failed) {
  const Why& why = tape.why[failed.block];
  return {.module = tape.scopes.path(why.scope),
          .op = why.op,
          .requested_bytes = failed.requested,
          .held_allocated_bytes = failed.levels.allocated};
}

std::string in_words(const LoadFailure& failed, Bytes whole) {
  const bool is_made = failed.op == "empty";  // a weight, which its module says
  return fmt::format("{}{} asks for {} with {} allocated; loading takes {} in all",
                     failed.module.empty() ? "the model" : failed.module,
                     is_made ? "" : fmt::format(" ({})", failed.op),
                     human_bytes(failed.requested_bytes), human_bytes(failed.held_allocated_bytes),
                     gib(whole));
}

/// What may be there beside the model while it is loaded: NCCL's buffers, and a file of the
/// checkpoint where it is read on the GPU. Files are cut at 5 GB (max_shard_size of transformers'
/// save_pretrained).
struct Beside {
  Bytes most = 0;
  std::string what;
};

Beside beside_model(const Settings& s) {
  constexpr Bytes kFile = 5'000'000'000;
  const int ranks = s.parallel.tp;
  Beside beside;
  if (ranks > 1) {
    beside.most = nccl_memory({"tp", ranks, Traffic::collective}, s.device.traits.major).high;
    beside.what = fmt::format("NCCL has up to {}", gib(beside.most));
  }
  if (!s.reads_on_gpu) return beside;
  beside.most += kFile;
  beside.what += fmt::format("{}a file of the checkpoint has up to {}",
                             beside.what.empty() ? "" : " and ", gib(kFile));
  return beside;
}

}  // namespace

Loading play_loading(const Tape& tape, const LoadingStage& stage, const Settings& settings,
                     const AllocatorConfig& loading) {
  const DeviceFacts& device = settings.device;
  const auto on = [&](Bytes total) { return played_on(total, tape, stage, device, loading); };
  Loading found;
  found.peak = on(kUnlimited).peak;
  const Bytes whole = found.device_bytes = found.peak.reserved + device.context;
  const Beside beside = beside_model(settings);
  if (whole > device.total) {
    const PlayedStage limited = on(device.total);
    if (limited.failed) {
      found.failed = failure_of(tape, *limited.failed);
      found.failure = in_words(*found.failed, whole);
      return found;
    }
    found.device_bytes = limited.peak.reserved + device.context;
  }
  if (beside.most > 0 && whole + beside.most > device.total &&
      on(device.total - beside.most).failed)
    found.doubt = fmt::format("while loading: {} of {} are taken, and {} beside them",
                              gib(found.device_bytes), gib(device.total), beside.what);
  return found;
}

void add_loading(ServeAnswer& answer, ServeRank& rank, const Loading& loading) {
  rank.load_peak_bytes = loading.device_bytes;
  rank.phases.push_back({"load", loading.peak});
  if (!answer.loading) answer.loading.emplace();
  ServeLoading& report = *answer.loading;
  report.peak_bytes = std::max(report.peak_bytes, loading.device_bytes);
  if (!report.failed) {
    report.failed = loading.failed;
    report.failure = loading.failure;
  }
  if (report.doubt.empty()) report.doubt = loading.doubt;
}

}  // namespace memtape::vllm
