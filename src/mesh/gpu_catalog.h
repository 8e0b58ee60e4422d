// SPDX-License-Identifier: Apache-2.0
// The GPU catalog: what a device gives a program, as cudaMemGetInfo reports it, and what its CUDA
// context takes.
//
// nvidia-smi's total includes memory that the driver keeps for itself ("Reserved" in nvidia-smi -q
// -d MEMORY since R510); a program can never have it, so verdicts use CUDA's own total. Each figure
// says how well it is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape {

enum class Certainty {
  exact,    ///< printed to the byte by a real device
  rounded,  ///< printed by a real device to the MiB or to 0.01 GiB: the least value that prints so
  estimated,  ///< by the rule that the source names
  unknown,    ///< 0: nothing is known
};

struct Gpu {
  std::string_view id;    ///< "h100-80gb"
  std::string_view name;  ///< "NVIDIA H100 80GB HBM3"
  std::string_view vendor, architecture;
  int capability_major = 0, capability_minor = 0;  ///< 0.0 where the device does not run CUDA
  int sm_count = 0;
  Bytes total_bytes = 0;
  Certainty total_certainty = Certainty::unknown;
  std::string total_source;
  Bytes context_bytes = 0;
  Certainty context_certainty = Certainty::unknown;
  std::string context_source;
  std::string_view notes;

  bool runs_cuda() const { return capability_major > 0; }
  /// 80 for 8.0, 103 for 10.3.
  int capability() const { return capability_major * 10 + capability_minor; }
};

/// Every GPU, in the order of data/gpus.json.
std::vector<Gpu> gpu_catalog();

/// The GPU of that id or device name (case ignored), or the only one whose id begins with `name`
/// and a hyphen ("b200"). `where` is the option's name in the message.
Result<Gpu> find_gpu(std::string_view name, std::string_view where = "--gpu");

/// "exact", "rounded", "estimated", "unknown".
std::string_view name(Certainty certainty);

}  // namespace memtape
