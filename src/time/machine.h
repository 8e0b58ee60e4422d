// SPDX-License-Identifier: Apache-2.0
// Machine: one GPU as its data sheet and measurements of its kernels describe it, and the links
// between several: NVLink inside a domain, the network between domains, and PCIe to the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "mesh/gpu_catalog.h"
#include "mesh/gpu_speeds.h"
#include "workload/step_choices.h"

namespace memtape::time {

/// The number formats that the tensor cores multiply.
enum class Compute : std::uint8_t { fp32, tf32, bf16, fp16, fp8, mxfp8, nvfp4 };

std::string_view name(Compute compute);
/// The format of --precision fp8, mxfp8 or nvfp4.
Compute compute_of(LowBits bits);
/// The bytes of one element of a matrix, with its part of the blocks' scales.
double bytes_of(Compute compute);

struct Machine {
  std::string gpu;  ///< "h100-80gb"
  GpuSpeeds speeds;
  int capability = 0;              ///< 90: compute capability 9.0
  std::int64_t gpus_per_node = 8;  ///< the cards that share a host and its network cards
  std::int64_t domain = 8;         ///< the cards that NVLink joins, or PCIe if there is no NVLink
  double domain_bytes_per_second = 0;  ///< of one card, in one direction
  bool domain_is_pcie = false;
  double network_bytes_per_second = 0;  ///< of one card, in one direction
  double network_latency = 10e-6;
  double pcie_bytes_per_second = 0;
  /// The bandwidth of host memory, which the cards of a node share.
  double host_bytes_per_second = 0;

  /// The operations per second that the data sheet promises, or 0 if it names none of that kind.
  double peak(Compute compute) const;
};

/// What a user may say about the links. If nothing is said, they are those with which the GPU is
/// sold.
struct MachineOptions {
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> domain;
  std::optional<double> network_gb_s;  ///< of one card, in one direction
};

Result<Machine> machine_of(const Gpu& gpu, const MachineOptions& options = {});

}  // namespace memtape::time
