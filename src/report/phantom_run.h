// SPDX-License-Identifier: Apache-2.0
// PhantomRun: what a real program did on phantom GPUs, read from its own PyTorch allocator
// (`memtape run`). There is one entry for each process and GPU, in the words of the JSON contract
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

/// The tensors of one size that one place made.
struct LiveTensors {
  Bytes bytes = 0;  ///< the sum over all of them
  std::int64_t count = 0;
  std::string place;               ///< the innermost place in Python, even inside torch
  std::vector<std::string> stack;  ///< the places in the program, the innermost first
};

struct RunPhase {
  std::string name;
  Levels peak;
};

/// A request that the device could not serve, as torch.cuda.OutOfMemoryError reported it to the
/// program.
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
  std::vector<Levels> steps;  ///< the peaks of the last steps
  std::int64_t steps_done = 0, alloc_retries = 0, segments = 0;
  Bytes peak_live_requested = 0;  ///< the bytes of the recorded events when `largest` was alive
  std::vector<LiveTensors> largest;
  std::vector<RunFailure> failures;
};

/// What the driver saw of a GPU, over all processes.
struct RunGpu {
  int gpu = 0, processes = 0;
  Bytes peak_device = 0;  ///< the most that all processes held at one time, with their contexts
  Bytes context = 0, nccl = 0;
  std::int64_t refused = 0;
};

/// A place where the program read data from the device, which a phantom GPU does not have.
struct DataRead {
  std::string place, source;
  std::int64_t count = 0;
  Bytes largest = 0;
};

/// A place where the program asked for something that only a real device would know and that had to
/// be invented, for example to which expert a token is routed, or whether a gradient is finite.
struct Invention {
  std::string place, source, what;
  std::int64_t count = 0;
  std::int64_t reads = 0;  ///< how often the program read a result of it
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
  /// The entry with the highest reserved peak. It is null if no process used a GPU through PyTorch.
  const RunEntry* fullest() const;
};

std::string json(const PhantomRun& run);
std::string text(const PhantomRun& run);
/// One line for each GPU.
std::string quiet_text(const PhantomRun& run);

}  // namespace memtape::report
