// SPDX-License-Identifier: Apache-2.0
// GpuSpeeds: what a GPU computes and moves in a second according to its data sheet, from
// data/gpus.json. A figure that nobody published is 0. All figures are dense, that is without
// sparsity.
#pragma once

#include <span>
#include <string_view>

namespace memtape {

struct GpuSpeeds {
  std::string_view id;
  double tflops_fp32 = 0, tflops_bf16 = 0, tflops_fp16 = 0, tflops_fp8 = 0, tflops_fp4 = 0,
         tops_int8 = 0;
  double memory_gb_s = 0;
  double link_gb_s = 0;  ///< NVLink or a similar link, in one direction; 0: there is only PCIe
  double pcie_gb_s = 0;  ///< in one direction
  /// One network card in the servers that the GPU is sold in, in one direction.
  double network_gb_s = 0;
  int gpus_per_node = 0, link_domain = 0;
  std::string_view sources;  ///< one source on each line
};

namespace data {
/// In the order of data/gpus.json, which is also the order of gpu_catalog().
std::span<const GpuSpeeds> gpu_speeds();
}  // namespace data

/// The speeds of the GPU with that id; they are all 0 if nothing is known.
GpuSpeeds speeds_of(std::string_view id);

}  // namespace memtape
