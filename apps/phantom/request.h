// SPDX-License-Identifier: Apache-2.0
// PhantomRequest: phantom GPUs of one kind, and how a program runs on them.
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
  std::optional<int> rank, world;  ///< the program is one rank of many
  Bytes total_bytes = 0, context_bytes = 0;
  int stop_after = 0;      ///< the optimizer steps after which it stops; 0: never
  int most_reads = 10000;  ///< the most equal reads at one line without progress; 0: any number
  std::string placement = "linux", events = "complete", values = "steer", host_init = "skip";
  /// For invented routing: the load of the fullest expert divided by the mean.
  double imbalance = 1;
  Bytes backing = 0;
  int lone_byte = 1;
  std::optional<std::int64_t> history;  ///< the number of allocator events that are kept
  bool json = false,
       quiet = false;    ///< only the answer; the program's own output then goes to standard error
  std::string snapshot;  ///< the file, or ""
  bool tape = false;     ///< the agent writes down the allocator's events
};

/// Reads options by name, with their values as typed.
Result<PhantomRequest> phantom_request(const NamedValues& options,
                                       std::vector<std::string> command);

}  // namespace memtape::phantom_run
