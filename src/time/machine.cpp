// SPDX-License-Identifier: Apache-2.0
#include "time/machine.h"

#include <array>

namespace memtape::time {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

/// PCIe where no data sheet says it: version 4, sixteen lanes.
constexpr double kPcie4GbS = 31.5;
/// One 100 Gb/s network card a GPU, what rented servers have.
constexpr double kPlainNetworkGbS = 12.5;

}  // namespace

std::string_view name(Compute compute) {
  constexpr std::array<std::string_view, 7> kNames = {"fp32", "tf32",  "bf16", "fp16",
                                                      "fp8",  "mxfp8", "nvfp4"};
  return kNames[static_cast<std::size_t>(compute)];
}

Compute compute_of(LowBits bits) {
  if (bits == LowBits::nvfp4) return Compute::nvfp4;
  return bits == LowBits::mxfp8 ? Compute::mxfp8 : Compute::fp8;
}

double bytes_of(Compute compute) {
  switch (compute) {
    case Compute::fp32:
    case Compute::tf32: return 4;
    case Compute::bf16:
    case Compute::fp16: return 2;
    case Compute::fp8: return 1;
    case Compute::mxfp8: return 1 + 1.0 / 32;    // a scale of eight bits for 32 elements
    case Compute::nvfp4: return 0.5 + 1.0 / 16;  // and for 16
  }
  return 2;
}

double Machine::peak(Compute compute) const {
  switch (compute) {
    case Compute::fp32: return speeds.tflops_fp32 * kTera;
    case Compute::tf32: return speeds.tflops_bf16 / 2 * kTera;
    case Compute::bf16: return speeds.tflops_bf16 * kTera;
    case Compute::fp16:
      return (speeds.tflops_fp16 > 0 ? speeds.tflops_fp16 : speeds.tflops_bf16) * kTera;
    case Compute::fp8:
    case Compute::mxfp8: return speeds.tflops_fp8 * kTera;
    case Compute::nvfp4: return speeds.tflops_fp4 * kTera;
  }
  return 0;
}

Result<Machine> machine_of(const Gpu& gpu, const MachineOptions& options) {
  Machine m;
  m.gpu = gpu.id;
  m.capability = gpu.capability();
  m.speeds = speeds_of(gpu.id);
  if (m.speeds.memory_gb_s <= 0 || (m.speeds.tflops_bf16 <= 0 && m.speeds.tflops_fp16 <= 0))
    return unsupported("no data sheet's speed is known for " + std::string(gpu.id), "--gpu",
                       "a GPU for which memtape gpus shows TFLOPS and GB/s");
  const GpuSpeeds& s = m.speeds;
  m.gpus_per_node = options.gpus_per_node.value_or(s.gpus_per_node > 0 ? s.gpus_per_node : 8);
  m.pcie_bytes_per_second = (s.pcie_gb_s > 0 ? s.pcie_gb_s : kPcie4GbS) * kGiga;
  m.domain_is_pcie = s.link_gb_s <= 0;
  m.domain = options.domain.value_or(s.link_domain > 0 ? s.link_domain : m.gpus_per_node);
  m.domain_bytes_per_second = m.domain_is_pcie ? m.pcie_bytes_per_second : s.link_gb_s * kGiga;
  const double network = s.network_gb_s > 0 ? s.network_gb_s : kPlainNetworkGbS;
  m.network_bytes_per_second = options.network_gb_s.value_or(network) * kGiga;
  m.host_bytes_per_second = 400 * kGiga;  // two sockets of DDR5; eight channels of DDR4 have half
  return m;
}

}  // namespace memtape::time
