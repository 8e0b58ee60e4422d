// SPDX-License-Identifier: Apache-2.0
// Which flash attention kernel a CUDA device picks (fattn.cu, ggml_cuda_get_best_fattn_kernel).
#include <algorithm>
#include <array>

#include "ggml/cuda_backend.h"

namespace memtape::ggml {
namespace {

constexpr std::int64_t kKeyStride = 256;  ///< FATTN_KQ_STRIDE
constexpr int kVolta = 700, kTuring = 750, kAda = 890;

struct Operands {
  const Tensor &q, &k, &v;
  const Tensor* mask;
  std::int64_t heads_per_kv;  ///< grouped queries
  bool grouped;               ///< the kernels that share a key among its queries apply
};

/// Strides that vector loads can take.
bool is_aligned(const Tensor* t) {
  return !t || is_quantized(t->type) ||
         std::all_of(t->nb.begin() + 1, t->nb.end(), [](Bytes nb) { return nb % 16 == 0; });
}

Operands operands_of(const Tensor& op) {
  Operands o{*op.src[0], *op.src[1], *op.src[2], op.src[3], 1, false};
  o.heads_per_kv = o.k.ne[2] > 0 ? o.q.ne[2] / o.k.ne[2] : 1;
  o.grouped = o.heads_per_kv >= 2 && o.mask && op.max_bias == 0 && o.k.ne[1] % kKeyStride == 0 &&
              is_aligned(&o.q) && is_aligned(&o.k) && is_aligned(&o.v) && is_aligned(o.mask);
  return o;
}

bool has_kernel_for_heads(const Operands& o) {
  const std::int64_t key = o.k.ne[0], value = o.v.ne[0];
  switch (key) {
    case 40:
    case 64:
    case 72:
    case 80:
    case 96:
    case 112:
    case 128:
    case 256: return value == key;
    case 192: return value == 128 && o.grouped && o.heads_per_kv % 8 == 0;
    case 320: return value == 256 && o.grouped && o.heads_per_kv % 32 == 0;
    case 512: return value == key && o.grouped;
    case 576: return value == 512 && o.grouped;
    default: return false;
  }
}

bool takes_type(Type type) {
  constexpr std::array kTypes{Type::f32,  Type::f16,  Type::bf16, Type::q4_0,
                              Type::q4_1, Type::q5_0, Type::q5_1, Type::q8_0};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

bool can_be_vector(const Operands& o) {
  return o.q.ne[0] <= 256 && o.q.ne[0] % 64 == 0 && o.q.ne[0] != 192 && o.k.ne[1] % kKeyStride == 0;
}

/// With Turing's tensor cores or later.
AttentionKernel with_tensor_cores(const Operands& o, int capability) {
  if (!can_be_vector(o)) return AttentionKernel::mma;
  const std::int64_t tokens = o.q.ne[1];
  if (is_quantized(o.k.type) || is_quantized(o.v.type)) {
    if (tokens <= (capability >= kAda ? 2 : 1)) return AttentionKernel::vec;
  } else if (capability >= kAda && tokens == 1 && o.q.ne[3] == 1 &&
             !(o.heads_per_kv > 4 && (o.q.ne[0] >= 256 || o.k.ne[1] >= 8192))) {
    return AttentionKernel::vec;
  }
  return !o.grouped && tokens == 1 ? AttentionKernel::vec : AttentionKernel::mma;
}

AttentionKernel with_volta(const Operands& o) {
  const int most = o.q.ne[0] == 320 ? 32 : o.q.ne[0] == 576 || o.q.ne[0] == 192 ? 16 : 8;
  int together = 1;
  while (o.heads_per_kv % (2 * together) == 0 && together < most) together *= 2;
  if (can_be_vector(o) && o.q.ne[1] * together <= 2) return AttentionKernel::vec;
  return o.q.ne[1] * together <= 16 ? AttentionKernel::tile : AttentionKernel::mma;
}

AttentionKernel without_tensor_cores(const Operands& o) {
  if (!can_be_vector(o)) return AttentionKernel::tile;
  const bool quantized = is_quantized(o.k.type) || is_quantized(o.v.type);
  if (quantized ? o.q.ne[1] <= 2 : o.q.ne[1] == 1 && !o.grouped) return AttentionKernel::vec;
  return AttentionKernel::tile;
}

}  // namespace

AttentionKernel attention_kernel(const Tensor& op, const CudaDevice& device) {
  if (device.kind == CudaKind::sycl) return AttentionKernel::none;
  const Operands o = operands_of(op);
  if (!has_kernel_for_heads(o) || !takes_type(o.k.type) || !takes_type(o.v.type))
    return AttentionKernel::none;
  if (o.mask && o.mask->ne[2] != 1) return AttentionKernel::none;
  const bool plain = o.q.ne[0] == 40 || o.q.ne[0] == 72;
  if (device.kind == CudaKind::rocm) return without_tensor_cores(o);
  if (device.capability >= kTuring && !plain) return with_tensor_cores(o, device.capability);
  if (device.capability >= kVolta && !plain) return with_volta(o);
  return without_tensor_cores(o);
}

}  // namespace memtape::ggml
