// SPDX-License-Identifier: Apache-2.0
#include "ggml/metal_backend.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::ggml {
namespace {

constexpr Bytes kMetalAlignment = 32;
constexpr Bytes kFloat = 4, kHalf = 2, kIndex = 4;
constexpr std::int64_t kQueries = 8,
                       kMetalKeys = 64;   ///< of a block: OP_FLASH_ATTN_EXT_NQPSG, _NCPSG
constexpr std::int64_t kVectorKeys = 32;  ///< OP_FLASH_ATTN_EXT_VEC_NCPSG
constexpr std::int64_t kVectorBatch = 20, kGroups = 32;

bool is_half_or_single(Type type) { return type == Type::f32 || type == Type::f16; }

/// Which expert takes which token.
Bytes scratch_of_experts(const Tensor& op) {
  const std::int64_t experts = op.src[0]->ne[2];
  return kIndex * experts * (1 + op.src[2]->ne[1]);
}

Bytes padding_of_keys(const Tensor& op) {
  const Tensor &k = *op.src[1], &v = *op.src[2];
  const Tensor* mask = op.src[3];
  Bytes row = k.nb[1] * k.ne[2] * k.ne[3] + v.nb[1] * v.ne[2] * v.ne[3];
  if (mask) row += kHalf * mask->ne[1] * mask->ne[2] * mask->ne[3];
  return kMetalKeys * row;
}

/// Which blocks of the mask are empty.
Bytes blocks_of_mask(const Tensor& op) {
  const Tensor &q = *op.src[0], *mask = op.src[3];
  if (!mask) return 0;
  const bool vector = q.ne[1] < kVectorBatch && q.ne[0] % 32 == 0;
  const std::int64_t rows = vector ? q.ne[1] : (q.ne[1] + kQueries - 1) / kQueries;
  const std::int64_t keys = vector ? kVectorKeys : kMetalKeys;
  const std::int64_t columns = (mask->ne[0] + keys - 1) / keys;
  return round_up(rows * columns * mask->ne[2] * mask->ne[3], Bytes{32});
}

/// What the groups of the vector kernel add up.
Bytes partial_results(const Tensor& op) {
  const Tensor& q = *op.src[0];
  const std::int64_t rows = std::min<std::int64_t>(q.ne[1], 32);
  return kFloat * rows * q.ne[2] * q.ne[3] * kGroups * (op.src[2]->ne[0] + 2);
}

bool metal_supports_attention(const Tensor& op) {
  constexpr std::array<std::int64_t, 14> kHeads{32,  40,  48,  64,  72,  80,  96,
                                                112, 128, 192, 256, 320, 512, 576};
  constexpr std::array kTypes{Type::f32,  Type::f16,  Type::bf16, Type::q8_0,
                              Type::q4_0, Type::q4_1, Type::q5_0, Type::q5_1};
  return std::ranges::find(kHeads, op.src[0]->ne[0]) != kHeads.end() &&
         op.src[1]->type == op.src[2]->type &&
         std::ranges::find(kTypes, op.src[1]->type) != kTypes.end();
}

}  // namespace

MetalBufferType::MetalBufferType(MetalDevice device)
    : BufferType(fmt::format("MTL{}", device.number), kMetalAlignment, device.number),
      device_(device) {}

Bytes MetalBufferType::alloc_size(const Tensor& t) const {
  Bytes size = bytes_of(t);
  if (!device_.keeps_scratch) return size;
  if (t.op == Op::argsort || t.op == Op::cumsum) return 2 * size;
  if (t.op == Op::mul_mat_id) return size + scratch_of_experts(t);
  if (t.op != Op::flash_attn_ext) return size;
  size += partial_results(t);
  return device_.pads_keys ? size + padding_of_keys(t) + blocks_of_mask(t) : size;
}

bool MetalBackend::offloads(const Tensor& op) const {
  return (op.op == Op::mul_mat || op.op == Op::mul_mat_id) && batch_size(op) >= kOffloadMinBatch;
}

bool MetalBackend::supports_op(const Tensor& op) const {
  for (const Tensor* source : op.src)
    if (source && source->buffer && !source->buffer->is_host() &&
        source->buffer->device() != device_.number)
      return false;
  switch (op.op) {
    case Op::scale:
    case Op::fill:
    case Op::clamp:
    case Op::sqr:
    case Op::sqrt:
    case Op::unary: return has_contiguous_rows(*op.src[0]) && is_half_or_single(op.src[0]->type);
    case Op::glu: return is_contiguous_from(*op.src[0], 1) && is_half_or_single(op.src[0]->type);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::add_id:
      return has_contiguous_rows(*op.src[0]) && has_contiguous_rows(*op.src[1]) &&
             is_half_or_single(op.src[0]->type) && op.src[0]->type == op.src[1]->type;
    case Op::sum_rows:
    case Op::mean:
    case Op::soft_max:
    case Op::group_norm:
    case Op::l2_norm:
    case Op::norm:
    case Op::rms_norm: return has_contiguous_rows(*op.src[0]);
    case Op::concat: return op.src[0]->type == op.src[1]->type && !is_quantized(op.type);
    case Op::flash_attn_ext: return metal_supports_attention(op);
    default: return true;
  }
}

}  // namespace memtape::ggml
