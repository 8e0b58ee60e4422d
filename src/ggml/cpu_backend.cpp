// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "ggml/backend.h"

namespace memtape::ggml {
namespace {

/// Types that nothing can be converted to on the fly (ggml-cpu.c: no from_float).
bool has_no_conversion(Type type) {
  constexpr std::array kNone{Type::iq3_xxs, Type::iq3_s, Type::iq2_xxs, Type::iq2_xs,
                             Type::iq2_s,   Type::iq1_s, Type::iq1_m};
  return std::ranges::find(kNone, type) != kNone.end();
}

}  // namespace

std::int64_t batch_size(const Tensor& op) {
  switch (op.op) {
    case Op::get_rows: return 0;
    case Op::mul_mat: return op.ne[1];
    case Op::mul_mat_id:
    case Op::rope: return op.ne[2];
    default: return op.rows();
  }
}

bool PlainBackend::supports_op(const Tensor& op) const {
  return std::ranges::all_of(op.src, [&](const Tensor* source) {
    return !source || !source->buffer || source->buffer->is_host() ||
           source->buffer->device() == own_.device();
  });
}

bool CpuBackend::supports_op(const Tensor& op) const {
  switch (op.op) {
    case Op::cpy:
    case Op::set_rows: return !has_no_conversion(op.type);
    case Op::mul_mat: return op.src[1]->type == Type::f32 || op.src[1]->type == op.src[0]->type;
    default: return true;
  }
}

}  // namespace memtape::ggml
