// SPDX-License-Identifier: Apache-2.0
#include "ggml/cuda_backend.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::ggml {
namespace {

constexpr Bytes kCudaAlignment = 128;
constexpr std::int64_t kRowPadding = 512;  ///< MATRIX_ROW_PADDING

template <std::size_t N>
bool is_cuda_type(Type type, const std::array<Type, N>& types) {
  return std::ranges::find(types, type) != types.end();
}

constexpr std::array kMulMatTypes{
    Type::f32,    Type::f16,    Type::q1_0,   Type::q2_0,    Type::q4_0,  Type::q4_1,
    Type::q5_0,   Type::q5_1,   Type::q8_0,   Type::mxfp4,   Type::nvfp4, Type::q2_k,
    Type::q3_k,   Type::q4_k,   Type::q5_k,   Type::q6_k,    Type::q8_k,  Type::iq1_m,
    Type::iq1_s,  Type::iq2_s,  Type::iq2_xs, Type::iq2_xxs, Type::iq3_s, Type::iq3_xxs,
    Type::iq4_nl, Type::iq4_xs, Type::bf16};
constexpr std::array kGetRowsTypes{
    Type::f16,   Type::f32,     Type::bf16,  Type::i32,   Type::q1_0,    Type::q2_0,
    Type::q4_0,  Type::q4_1,    Type::q5_0,  Type::q5_1,  Type::q8_0,    Type::q2_k,
    Type::q3_k,  Type::q4_k,    Type::q5_k,  Type::q6_k,  Type::iq2_xxs, Type::iq2_xs,
    Type::iq2_s, Type::iq3_xxs, Type::iq3_s, Type::iq1_s, Type::iq1_m,   Type::iq4_xs};
constexpr std::array kSetRowsTypes{Type::f32,  Type::f16,  Type::bf16, Type::q4_0,  Type::q4_1,
                                   Type::q5_0, Type::q5_1, Type::q8_0, Type::iq4_nl};
constexpr std::array kFloats{Type::f32, Type::f16, Type::bf16};

/// The element types that CUDA copies between, beside float to float and like to like.
bool cuda_copies(Type from, Type to) {
  constexpr std::array kToAndFromFloat{Type::q8_0, Type::q4_0, Type::q4_1,
                                       Type::q5_0, Type::q5_1, Type::i32};
  if (is_cuda_type(from, kFloats) && is_cuda_type(to, kFloats)) return true;
  if (from == Type::f32) return is_cuda_type(to, kToAndFromFloat) || to == Type::iq4_nl;
  if (to == Type::f32) return is_cuda_type(from, kToAndFromFloat);
  return from == Type::i32 && to == Type::i32;
}

bool supports_mul_mat(const Tensor& op) {
  const Tensor &a = *op.src[0], &b = *op.src[1];
  if (a.nb[0] != block_bytes(a.type) || b.nb[0] != block_bytes(b.type)) return false;
  if (b.type == Type::f16 && a.type != Type::f16) return false;
  return is_cuda_type(a.type, kMulMatTypes);
}

bool supports_get_rows(const Tensor& op) {
  const Tensor& a = *op.src[0];
  if (a.type == Type::iq4_nl || a.type == Type::mxfp4) return a.ne[0] % 256 == 0;
  return is_cuda_type(a.type, kGetRowsTypes);
}

bool supports_set_rows(const Tensor& op) {
  const Type from = op.src[0]->type, index = op.src[1]->type;
  if (index != Type::i64 && index != Type::i32) return false;
  return (from == Type::f32 && is_cuda_type(op.type, kSetRowsTypes)) ||
         (from == Type::f16 && op.type == Type::f16);
}

bool cuda_supports_copy(const Tensor& op) {
  const Tensor &from = *op.src[0], &to = *op.src[1];
  return cuda_copies(from.type, to.type) ||
         (from.type == to.type && is_contiguous(from) && is_contiguous(to));
}

bool supports_arithmetic(const Tensor& op) {
  const Type a = op.src[0]->type, b = op.src[1]->type;
  if (a == Type::bf16 || b == Type::bf16 || op.type == Type::bf16)
    return a == Type::bf16 && op.type == Type::bf16 && (b == Type::bf16 || b == Type::f32);
  const auto half_or_single = [](Type t) { return t == Type::f32 || t == Type::f16; };
  return half_or_single(a) && half_or_single(b) && half_or_single(op.type);
}

/// ssm-scan.cu: Mamba-2's A is a scalar a head, Mamba's a row of states.
bool supports_scan(const Tensor& op) {
  const Extents &state = op.src[0]->ne, &a = op.src[3]->ne, &b = op.src[4]->ne;
  if (a[0] == 1)
    return (state[0] == 96 || state[0] == 128 || state[0] == 256) && state[1] % 16 == 0;
  return state[0] == 16 && state[1] == 1 && state[2] % 128 == 0 && b[1] == 1;
}

bool supports_concat(const Tensor& op) {
  const Tensor &a = *op.src[0], &b = *op.src[1];
  return a.type == b.type && !is_quantized(a.type);
}

/// lightning-indexer.cu: the shapes that there are kernels for.
bool supports_indexer(const Tensor& op) {
  constexpr std::array kKeyTypes{Type::f32,  Type::bf16, Type::f16,  Type::q8_0,
                                 Type::q5_1, Type::q5_0, Type::q4_1, Type::q4_0};
  const Tensor &q = *op.src[0], &k = *op.src[1];
  return q.ne[0] == 128 && (q.ne[1] == 64 || q.ne[1] == 32) && is_cuda_type(k.type, kKeyTypes);
}

bool is_single_rows(const Tensor& op) {
  return op.src[0]->type == Type::f32 && has_contiguous_rows(*op.src[0]);
}

/// fattn-common.cuh: K and V are converted behind the result where the kernel wants halves.
Bytes attention_size(const Tensor& op, const CudaDevice& device) {
  Bytes end = bytes_of(op);
  if (!device.converts_in_graph) return end;
  const AttentionKernel kernel = attention_kernel(op, device);
  const bool converts = kernel == AttentionKernel::tile || kernel == AttentionKernel::mma;
  const Tensor &k = *op.src[1], &v = *op.src[2];
  const bool v_within_k =
      v.view_src &&
      (v.view_src == &k || (v.view_src == k.view_src && v.view_offset == k.view_offset));
  const auto needs = [&](Type type) {
    return type != Type::f16 && (converts || (kernel == AttentionKernel::vec && type == Type::f32));
  };
  if (needs(k.type)) end = round_up(end, kCudaAlignment) + k.elements() * 2;
  if (needs(v.type) && !v_within_k) end = round_up(end, kCudaAlignment) + v.elements() * 2;
  return end;
}

}  // namespace

std::string_view prefix_of(CudaKind kind) {
  switch (kind) {
    case CudaKind::cuda: return "CUDA";
    case CudaKind::rocm: return "ROCm";
    case CudaKind::sycl: return "SYCL";
  }
  return "";
}

CudaBufferType::CudaBufferType(CudaDevice device)
    : BufferType(fmt::format("{}{}", prefix_of(device.kind), device.number), kCudaAlignment,
                 device.number),
      device_(device) {}

Bytes CudaBufferType::alloc_size(const Tensor& t) const {
  Bytes size = t.op == Op::flash_attn_ext ? attention_size(t, device_) : bytes_of(t);
  if (is_quantized(t.type) && t.ne[0] % kRowPadding != 0)
    size += row_size(t.type, kRowPadding - t.ne[0] % kRowPadding);
  return size;
}

bool CudaBackend::offloads(const Tensor& op) const { return batch_size(op) >= kOffloadMinBatch; }

bool CudaBackend::supports_op(const Tensor& op) const {
  for (const Tensor* source : op.src)
    if (source && source->buffer && !source->buffer->is_host() &&
        source->buffer->device() != device_.number)
      return false;
  switch (op.op) {
    case Op::unary:
    case Op::group_norm: return is_contiguous(*op.src[0]);
    case Op::glu: return is_contiguous_from(*op.src[0], 1);
    case Op::mul_mat:
    case Op::mul_mat_id: return supports_mul_mat(op);
    case Op::get_rows: return supports_get_rows(op);
    case Op::set_rows: return supports_set_rows(op);
    case Op::cpy: return cuda_supports_copy(op);
    case Op::concat: return supports_concat(op);
    case Op::norm:
    case Op::rms_norm:
    case Op::l2_norm: return has_contiguous_rows(*op.src[0]);
    case Op::scale:
      return op.src[0]->type == op.type && (op.type == Type::f32 || op.type == Type::bf16);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div: return supports_arithmetic(op);
    case Op::repeat: return op.src[0]->type == Type::f32 || op.src[0]->type == Type::f16;
    case Op::ssm_scan: return supports_scan(op);
    case Op::ssm_conv: return op.src[0]->ne[1] % 128 == 0;
    case Op::rope:
      return op.src[0]->nb[0] == block_bytes(op.src[0]->type) && is_contiguous_from(*op.src[0], 2);
    case Op::lightning_indexer: return supports_indexer(op);
    case Op::mean:
    case Op::sum_rows: return is_single_rows(op);
    case Op::flash_attn_ext: return attention_kernel(op, device_) != AttentionKernel::none;
    default: return true;
  }
}

}  // namespace memtape::ggml
