// SPDX-License-Identifier: Apache-2.0
#include "ggml/vulkan_backend.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::ggml {
namespace {

constexpr Bytes kVulkanAlignment =
    16;  ///< minStorageBufferOffsetAlignment of NVIDIA's and AMD's drivers

template <std::size_t N>
bool is_vulkan_type(Type type, const std::array<Type, N>& types) {
  return std::ranges::find(types, type) != types.end();
}

constexpr std::array kHalfOrSingle{Type::f32, Type::f16};
constexpr std::array kMatrices{Type::f32,     Type::f16,   Type::bf16,    Type::q1_0,   Type::q2_0,
                               Type::q4_0,    Type::q4_1,  Type::q5_0,    Type::q5_1,   Type::q8_0,
                               Type::q2_k,    Type::q3_k,  Type::q4_k,    Type::q5_k,   Type::q6_k,
                               Type::iq1_s,   Type::iq1_m, Type::iq2_xxs, Type::iq2_xs, Type::iq2_s,
                               Type::iq3_xxs, Type::iq3_s, Type::iq4_xs,  Type::iq4_nl, Type::mxfp4,
                               Type::nvfp4};
constexpr std::array kStored{Type::f32,  Type::f16,  Type::bf16,  Type::q1_0,
                             Type::q2_0, Type::q4_0, Type::q4_1,  Type::q5_0,
                             Type::q5_1, Type::q8_0, Type::iq4_nl};
constexpr std::array kVulkanKeys{Type::f32,  Type::f16,  Type::bf16, Type::q8_0,  Type::q5_1,
                                 Type::q5_0, Type::q4_1, Type::q4_0, Type::iq4_nl};

bool vulkan_copies(Type from, Type to) {
  if (from == Type::f32 && (is_vulkan_type(to, kStored) || to == Type::i32)) return true;
  if (to == Type::f32 && (is_vulkan_type(from, kStored) || from == Type::i32)) return true;
  return from == Type::f16 && to == Type::f16;
}

bool vulkan_supports_copy(const Tensor& op) {
  const Tensor& from = *op.src[0];
  const Type to = op.src[1] ? op.src[1]->type : from.type;
  return vulkan_copies(from.type, to) ||
         (from.type == to && (!is_quantized(to) || (is_contiguous(from) && is_contiguous(op))));
}

bool vulkan_supports_attention(const Tensor& op) {
  const Tensor &k = *op.src[1], &v = *op.src[2];
  return k.ne[0] % 8 == 0 && v.ne[0] % 8 == 0 && is_vulkan_type(k.type, kVulkanKeys) &&
         is_vulkan_type(v.type, kVulkanKeys) && (k.type == Type::bf16) == (v.type == Type::bf16);
}

bool all_are_half_or_single(const Tensor& op) {
  return is_vulkan_type(op.type, kHalfOrSingle) && is_vulkan_type(op.src[0]->type, kHalfOrSingle) &&
         (!op.src[1] || is_vulkan_type(op.src[1]->type, kHalfOrSingle));
}

}  // namespace

VulkanBackend::VulkanBackend(VulkanDevice device)
    : device_(device),
      own_(fmt::format("Vulkan{}", device.number), kVulkanAlignment, device.number) {}

bool VulkanBackend::offloads(const Tensor& op) const { return batch_size(op) >= kOffloadMinBatch; }

bool VulkanBackend::supports_op(const Tensor& op) const {
  for (const Tensor* source : op.src)
    if (source && source->buffer && !source->buffer->is_host() &&
        source->buffer->device() != device_.number)
      return false;
  switch (op.op) {
    case Op::mul_mat:
    case Op::mul_mat_id:
    case Op::get_rows:
      return is_vulkan_type(op.src[0]->type, kMatrices) || op.src[0]->type == Type::i32;
    case Op::set_rows:
      return is_vulkan_type(op.src[0]->type, kHalfOrSingle) && is_vulkan_type(op.type, kStored);
    case Op::cpy: return vulkan_supports_copy(op);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::glu:
    case Op::unary: return all_are_half_or_single(op);
    case Op::rope: return has_contiguous_rows(op) && has_contiguous_rows(*op.src[0]);
    case Op::scale:
    case Op::soft_max:
    case Op::group_norm: return is_contiguous(*op.src[0]);
    case Op::ssm_scan: return op.src[3]->ne[0] == 1 && op.src[0]->ne[0] >= 128;
    case Op::flash_attn_ext: return device_.vector_attention && vulkan_supports_attention(op);
    default: return true;
  }
}

}  // namespace memtape::ggml
