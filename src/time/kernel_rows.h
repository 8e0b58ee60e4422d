// SPDX-License-Identifier: Apache-2.0
// The rows that are generated from data/kernels.txt (scripts/kernel_tables.py,
// scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace memtape::time {

struct KernelRow {
  std::string_view kind;   ///< "gemm", "context", "generation", "experts", "message" ...
  std::string_view gpu;    ///< "h100-80gb"
  std::string_view words;  ///< "bf16 4096"
  std::uint32_t first = 0, count = 0;  ///< where its figures begin, and how many they are
};

}  // namespace memtape::time

namespace memtape::data {
using time::KernelRow;
std::span<const KernelRow> kernel_rows();
std::span<const float> kernel_figures();
}  // namespace memtape::data
