// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/efficient_kernels.h"

#include <algorithm>

namespace memtape::ghost {
namespace {

constexpr std::int64_t kWidestInRegisters =
    128;  // kMaxK of the last forward kernel that keeps its output in registers
constexpr std::int64_t kNarrowHead = 64;

/// Shared memory a block may ask for (CUDA programming guide, technical specifications per compute
/// capability): 99 KiB on 8.6, 8.9 and 12.x, at least 163 KiB on the other devices from 8.0 on. The
/// kernels of 128 keys in halves and of 128 queries in float32 need more than 99 KiB.
bool has_large_shared_memory(const DeviceTraits& device) {
  if (device.major == 8) return device.minor == 0 || device.minor == 7;
  return device.major > 8 && device.major < 12;
}

/// cutlassB.h has a kernel for heads of up to 96, without dropout, on 8.6 and 8.9 alone.
bool is_gaming_ampere_or_ada(const DeviceTraits& device) {
  return device.major == 8 && (device.minor == 6 || device.minor == 9);
}

struct Blocks {
  std::int64_t queries, keys;
  std::int64_t widest_head;
};

/// Blocks and kMaxK of the kernel that cutlassB.h offers first among those that fit.
Blocks blocks_for(const DeviceTraits& device, bool half, const EfficientShape& shape) {
  constexpr std::int64_t kAny = 65536;
  const std::int64_t head = std::max(shape.head, shape.value_head);
  if (head <= kNarrowHead || device.major < 7)
    return {64, 64, head <= kNarrowHead ? kNarrowHead : head <= 128 ? 128 : kAny};
  const std::int64_t widest = head <= 128 ? 128 : kAny;
  if (!half) return {device.major >= 8 && has_large_shared_memory(device) ? 128 : 64, 64, widest};
  if (widest == kAny || device.major < 8) return {128, 64, widest};
  if (head <= 96 && !shape.dropout && is_gaming_ampere_or_ada(device)) return {128, 64, 96};
  if (has_large_shared_memory(device)) return {128, 128, widest};
  return {64, 64, widest};
}

}  // namespace

EfficientBackwardKernel efficient_backward_kernel(const DeviceTraits& device, DType dtype,
                                                  const EfficientShape& shape) {
  const bool half = dtype != DType::float32;
  const Blocks blocks = blocks_for(device, half, shape);
  const bool output_in_registers = half && blocks.widest_head <= blocks.queries;
  const bool splits = device.major >= 7;
  const bool volta = device.major == 7 && device.minor < 5;
  return {.block_queries = blocks.queries,
          .block_keys = blocks.keys,
          .adds_query_gradients = splits || half,
          .adds_key_gradients = half && !output_in_registers,
          .splits_keys = splits,
          .computes_delta = half && (output_in_registers || !volta)};
}

Bytes EfficientBackwardKernel::workspace(const EfficientShape& shape) const {
  constexpr std::int64_t kFloat = 4, kTileHeader = 16;
  std::int64_t splits = ceil_div(shape.keys, block_keys);
  if (shape.heads * shape.batch >= 256 && shape.keys <= 2 * block_keys) splits = 1;
  if (adds_key_gradients) splits = std::min(splits, 200 / (shape.batch * shape.heads));
  if (!splits_keys || splits < 1) splits = 1;

  std::int64_t elements = 0;
  if (adds_key_gradients)
    elements += splits * block_keys *
                (round_up(shape.head, block_queries) + round_up(shape.value_head, block_queries));
  if (adds_query_gradients) {
    const std::int64_t tile_bytes = kTileHeader + block_queries * block_keys * kFloat;
    elements += ceil_div(shape.queries, block_queries) * ceil_div(shape.head, block_keys) *
                tile_bytes / kFloat;
  }
  return shape.batch * shape.heads * round_up(elements, 4) * kFloat;
}

bool efficient_forward_accumulates(DType dtype, const EfficientShape& shape) {
  return dtype != DType::float32 && std::max(shape.head, shape.value_head) > kWidestInRegisters;
}

}  // namespace memtape::ghost
