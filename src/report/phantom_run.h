// SPDX-License-Identifier: Apache-2.0
// PhantomRun: what a real program did on phantom GPUs, read from its own PyTorch allocator
// (`memtape run`). One entry per process and GPU, in the words of the JSON contract
// (docs/phantom.md, docs/json.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "outcome/prediction.h"

namespace memtape::report {

/// Tensors of one size from one place.
struct LiveTensors {
  Bytes bytes = 0;  ///< of all together
  std::int64_t count = 0;
  std::string place;               ///< innermost Python place, torch's own included
  std::vector<std::string> stack;  ///< the program's places, innermost first
};

struct RunPhase {
  std::string name;
  Levels peak;
};

/// A request that the device could not serve, as torch.cuda.OutOfMemoryError told the program.
struct RunFailure {
  int gpu = 0;
  std::int64_t step = 0;
  std::string phase;
  Bytes requested = 0, free = 0;
  Levels levels;
  std::vector<std::string> stack;
  std::vector<LiveTensors> largest;
};

struct RunEntry {
  std::int64_t pid = 0;
  int rank = 0, gpu = 0;
  std::vector<RunPhase> phases;
  Levels peak, steady, now;
  std::vector<Levels> steps;  ///< peaks of the last steps
  std::int64_t steps_done = 0, alloc_retries = 0, segments = 0;
  Bytes peak_live_requested = 0;  ///< of the events that were kept, when `largest` was alive
  std::vector<LiveTensors> largest;
  std::vector<RunFailure> failures;
};

/// What the driver saw of a GPU, all processes together.
struct RunGpu {
  int gpu = 0, processes = 0;
  Bytes peak_device = 0;  ///< the most that all held at one time, contexts included
  Bytes context = 0, nccl = 0;
  std::int64_t refused = 0;
};

/// A place where the program read device data, which is not there.
struct DataRead {
  std::string place, source;
  std::int64_t count = 0;
  Bytes largest = 0;
};

/// A place where the program asked for something that only a device would know and that had to be
/// invented: whom a token is routed to, whether a gradient is finite.
struct Invention {
  std::string place, source, what;
  std::int64_t count = 0;
  std::int64_t reads = 0;  ///< how often the program read what came of it
};

struct PhantomRun {
  std::vector<std::string> command;
  int exit_code = 0, signal = 0;
  double seconds = 0;
  std::string python, torch;
  DeviceSummary device;
  int gpus = 1;
  std::vector<RunEntry> entries;
  std::vector<RunGpu> by_gpu;
  Bytes pinned_peak = 0, managed_peak = 0;
  std::int64_t launches = 0;
  std::vector<DataRead> reads;
  std::vector<Invention> inventions;
  std::vector<std::string> warnings;

  bool ran_out() const;
  /// The entry with the highest reserved peak; null when no process used a GPU through PyTorch.
  const RunEntry* fullest() const;
};

std::string json(const PhantomRun& run);
std::string text(const PhantomRun& run);
/// One line a GPU.
std::string quiet_text(const PhantomRun& run);

}  // namespace memtape::report
