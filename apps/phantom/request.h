// SPDX-License-Identifier: Apache-2.0
// PhantomRequest: phantom GPUs of a kind, and how a program is run on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "mesh/gpu_catalog.h"
#include "option/given.h"

namespace memtape::phantom_run {

inline constexpr std::string_view kUsualGpu = "h100-80gb";

struct PhantomRequest {
  std::vector<std::string> command;
  Gpu gpu;
  int gpus = 1;
  std::optional<int> rank, world;  ///< the program plays one rank of many
  Bytes total_bytes = 0, context_bytes = 0;
  int stop_after = 0;      ///< optimizer steps; 0: never
  int most_reads = 10000;  ///< equal reads of one line without progress; 0: any number
  std::string placement = "linux", events = "complete", values = "steer", host_init = "skip";
  double imbalance = 1;  ///< of invented routing: the fullest expert in times of the mean
  Bytes backing = 0;
  int lone_byte = 1;
  std::optional<std::int64_t> history;  ///< allocator events that are kept
  bool json = false,
       quiet = false;    ///< the answer; the program's own output then goes to standard error
  std::string snapshot;  ///< file, or ""
  bool tape = false;     ///< the agent writes the allocator's events down
};

/// Of options by name, values as typed.
Result<PhantomRequest> phantom_request(const NamedValues& options,
                                       std::vector<std::string> command);

}  // namespace memtape::phantom_run
