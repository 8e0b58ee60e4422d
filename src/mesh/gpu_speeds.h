// SPDX-License-Identifier: Apache-2.0
// GpuSpeeds: what a GPU computes and moves in a second by its data sheet, as data/gpus.json has it;
// 0 where nobody published the figure. Dense figures: no sparsity.
#pragma once

#include <span>
#include <string_view>

namespace memtape {

struct GpuSpeeds {
  std::string_view id;
  double tflops_fp32 = 0, tflops_bf16 = 0, tflops_fp16 = 0, tflops_fp8 = 0, tflops_fp4 = 0,
         tops_int8 = 0;
  double memory_gb_s = 0;
  double link_gb_s = 0;     ///< NVLink or its like, one direction; 0: PCIe alone
  double pcie_gb_s = 0;     ///< one direction
  double network_gb_s = 0;  ///< of one card in the servers it is sold in, one direction
  int gpus_per_node = 0, link_domain = 0;
  std::string_view sources;  ///< one a line
};

namespace data {
/// In the order of data/gpus.json, which is that of gpu_catalog().
std::span<const GpuSpeeds> gpu_speeds();
}  // namespace data

/// Of the GPU with that id; all 0 where it has none.
GpuSpeeds speeds_of(std::string_view id);

}  // namespace memtape
