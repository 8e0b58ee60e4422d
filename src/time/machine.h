// SPDX-License-Identifier: Apache-2.0
// Machine: one GPU as its data sheet and measurements of its kernels describe it, and the links
// between many: NVLink inside a domain, the network between, PCIe to the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "mesh/gpu_catalog.h"
#include "mesh/gpu_speeds.h"

namespace memtape::time {

/// What the tensor cores multiply.
enum class Compute : std::uint8_t { fp32, tf32, bf16, fp16, fp8, mxfp8, nvfp4 };

std::string_view name(Compute compute);
/// Of one element of a matrix, scales of blocks included.
double bytes_of(Compute compute);

struct Machine {
  std::string gpu;  ///< "h100-80gb"
  GpuSpeeds speeds;
  std::int64_t gpus_per_node = 8;      ///< cards behind one host and its network cards
  std::int64_t domain = 8;             ///< cards that NVLink (or PCIe alone) joins
  double domain_bytes_per_second = 0;  ///< of one card, one direction
  bool domain_is_pcie = false;
  double network_bytes_per_second = 0;  ///< of one card, one direction
  double network_latency = 10e-6;
  double pcie_bytes_per_second = 0;
  double host_bytes_per_second = 0;  ///< of host memory, shared by the cards of a node

  /// Operations a second that the data sheet promises; 0 where it has none of that kind.
  double peak(Compute compute) const;
};

/// What a user may say about the links; else what the GPU is sold with.
struct MachineOptions {
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> domain;
  std::optional<double> network_gb_s;  ///< of one card, one direction
};

Result<Machine> machine_of(const Gpu& gpu, const MachineOptions& options = {});

}  // namespace memtape::time
