// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/flat_layout.h"

#include <algorithm>

namespace memtape::fsdp1 {
namespace {

/// _get_aligned_numel: with use_orig_params parameters start at multiples of 16 bytes.
constexpr Bytes kAlignment = 16;

}  // namespace

FlatLayout flat_layout(std::span<const std::int64_t> sizes, const Options& options,
                       DType gathered) {
  FlatLayout layout;
  const auto pad_to = [&](std::int64_t multiple) {
    const std::int64_t padding = (multiple - layout.numel % multiple) % multiple;
    if (padding == 0) return;
    layout.pieces.push_back({padding, std::nullopt});
    layout.numel += padding;
  };
  const std::int64_t aligned = options.use_orig_params ? kAlignment / bytes_of(gathered, 1) : 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pad_to(aligned);
    layout.pieces.push_back({sizes[i], i});
    layout.numel += sizes[i];
  }
  if (options.use_orig_params) pad_to(options.mesh.size("shard"));
  return layout;
}

std::vector<FlatLayout::Part> FlatLayout::within(std::int64_t first, std::int64_t last) const {
  std::vector<Part> parts;
  std::int64_t at = 0;
  for (const FlatPiece& piece : pieces) {
    if (piece.parameter) parts.push_back({std::max(at, first), std::min(at + piece.numel, last)});
    at += piece.numel;
  }
  return parts;
}

}  // namespace memtape::fsdp1
