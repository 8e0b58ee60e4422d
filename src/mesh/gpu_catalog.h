// SPDX-License-Identifier: Apache-2.0
// The GPU catalog: how much memory a device gives a program, as cudaMemGetInfo reports it, and how
// much its CUDA context takes.
//
// The total that nvidia-smi prints includes memory that the driver keeps for itself ("Reserved" in
// nvidia-smi -q -d MEMORY since R510). A program can never have it, so verdicts use the total that
// CUDA reports. Each figure says how well it is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape {

enum class Certainty {
  exact,  ///< a real device printed it to the byte
  /// A real device printed it to the MiB or to 0.01 GiB; this is the least value that prints so.
  rounded,
  estimated,  ///< computed by the rule that the source names
  unknown,    ///< the figure is 0, because nothing is known
};

struct Gpu {
  std::string_view id;    ///< "h100-80gb"
  std::string_view name;  ///< "NVIDIA H100 80GB HBM3"
  std::string_view vendor, architecture;
  int capability_major = 0, capability_minor = 0;  ///< 0.0 if the device does not run CUDA
  int sm_count = 0;
  Bytes total_bytes = 0;
  Certainty total_certainty = Certainty::unknown;
  std::string total_source;
  Bytes context_bytes = 0;
  Certainty context_certainty = Certainty::unknown;
  std::string context_source;
  std::string_view notes;

  bool runs_cuda() const { return capability_major > 0; }
  /// It is 80 for 8.0 and 103 for 10.3.
  int capability() const { return capability_major * 10 + capability_minor; }
};

/// Every GPU, in the order of data/gpus.json.
std::vector<Gpu> gpu_catalog();

/// The GPU with that id or device name (case is ignored), or the only one whose id begins with
/// `name` and a hyphen ("b200"). `where` is the option's name in the message.
Result<Gpu> find_gpu(std::string_view name, std::string_view where = "--gpu");

/// "exact", "rounded", "estimated", "unknown".
std::string_view name(Certainty certainty);

}  // namespace memtape
