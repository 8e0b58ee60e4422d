// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/grouped_mm.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cub.h"
#include "ghost/ops/matmul.h"

namespace memtape::ghost {
namespace {

/// check_valid_strides_and_return_transposed of GroupedMMUtils.h: rows or columns must start at
/// multiples of 16 bytes.
void check_strides(const Tensor& matrix) {
  const std::int64_t stride =
      matrix.strides()[-1] == 1 ? matrix.strides()[-2] : matrix.strides()[-1];
  if (bytes_of(matrix.dtype(), stride) % 16 == 0) return;
  session().fail({ErrorKind::bad_input, "torch's grouped_mm wants rows of a multiple of 16 bytes",
                  "experts", "choose a hidden and an intermediate size that are multiples of 8"});
}

/// Whether CUTLASS' kernels for Hopper and for compute capability 10 take the product
/// (_grouped_mm_cuda's use_fast_path).
bool has_fast_path(const Tensor& self, const Tensor& mat2) {
  const int major = session().device.major;
  return (major == 9 || major == 10) && self.dtype() == DType::bfloat16 &&
         mat2.dtype() == DType::bfloat16;
}

/// Arguments of each group: three pointers, padded to 16 bytes, three strides and the sizes M, N, K
/// (GroupMM.cu).
Bytes arguments_bytes(std::int64_t groups) {
  constexpr Bytes kPointer = 8, kStride = 8, kSizes = 3 * 4;
  return ceil_div(groups, 2) * 2 * 3 * kPointer + groups * kSizes + 3 * groups * kStride;
}

/// dispatch_bf16_grouped_kernel_on_tile_size: few rows or columns per group.
bool is_small(const Tensor& self, const Tensor& mat2, std::int64_t groups) {
  const bool ragged_rows = mat2.dim() == 3;
  const std::int64_t rows = ragged_rows ? self.size(-2) / groups : self.size(-2);
  return rows <= 128 || mat2.size(-1) <= 128;
}

/// GemmUniversal::get_workspace_size (CUTLASS): tensor maps of 128 bytes, one set per processor,
/// that its blocks rewrite for every group. Hopper has one for each of A, B, C and D. How many the
/// kernels of compute capability 10 have follows from the pipelines they are built with: 46 where
/// two processors share a tile, 42 where one has its own, as torch 2.11's ask for whatever the
/// number of groups and processors.
Bytes grouped_workspace_bytes(const DeviceTraits& device, bool small) {
  constexpr Bytes kTensorMap = 128;
  const std::int64_t maps = device.major == 9 ? 4 : small ? 42 : 46;
  return device.sm_count * maps * kTensorMap;
}

Tensor product(const Tensor& self, const Tensor& mat2, const Tensor& offsets) {
  Op op("_grouped_mm", {});
  const std::int64_t groups = offsets.size(0);
  check_strides(self);
  check_strides(mat2);
  Dims sizes{self.size(0), mat2.size(-1)};
  if (mat2.dim() == 2) sizes.insert(0, groups);
  Tensor out = empty(sizes, self.dtype());
  if (!has_fast_path(self, mat2)) {
    use_cublas();
    return out;
  }
  const Tensor arguments = empty({arguments_bytes(groups)}, DType::uint8);
  const bool small = is_small(self, mat2, groups);
  const Tensor workspace = empty({grouped_workspace_bytes(session().device, small)}, DType::uint8);
  return out;
}

bool matrices_are_column_major(const Dims& sizes, const Dims& strides) {
  return strides[-2] == 1 && strides[-1] == sizes[-2];
}

/// _grouped_mm_mat1_backward and _grouped_mm_mat2_backward: each product is formed in the operand's
/// own layout.
struct GroupedMmBackward0 final : Node {
  GroupedMmBackward0(const Tensor& a, const Tensor& b)
      : Node("GroupedMmBackward0"),
        by_columns1(matrices_are_column_major(a.sizes(), a.strides())),
        by_columns2(matrices_are_column_major(b.sizes(), b.strides())) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor ends = offsets.unpack();
    if (wants(1)) {
      const Tensor a = self.unpack();
      out[1] = by_columns2 ? product(in[0].transpose(-2, -1), a, ends).transpose(-2, -1)
                           : product(a.transpose(-2, -1), in[0], ends);
    }
    if (wants(0)) {
      const Tensor b = mat2.unpack();
      out[0] = by_columns1 ? product(b, in[0].transpose(-2, -1), ends).transpose(-2, -1)
                           : product(in[0], b.transpose(-2, -1), ends);
    }
  }
  void release() override {
    mat2.reset();
    offsets.reset();
    self.reset();
  }
  Saved self, mat2, offsets;
  bool by_columns1, by_columns2;
};

/// transformers' grouped_mm_fallback (integrations/moe.py), an op of its own in Python: zeros that
/// a product per group is written into. Its context holds the offsets until the node goes.
struct GroupedMmFallbackBackward final : Node {
  GroupedMmFallbackBackward() : Node("transformers_grouped_mm_fallbackBackward") {}
  void apply(Gradients&, Gradients& out) override {
    const Tensor input = self.unpack(), weight = mat2.unpack();
    use_cublas();
    Tensor grad_input = zeros_like(input);
    Tensor grad_weight = zeros_like(weight);
    if (wants(0)) out[0] = std::move(grad_input);
    if (wants(1)) out[1] = std::move(grad_weight);
  }
  void release() override {
    self.reset();
    mat2.reset();
  }
  Saved self, mat2;
  Tensor offsets;
};

Tensor grouped_mm_fallback(const In& self, const In& mat2, const Tensor& offsets) {
  Op op("grouped_mm_fallback", {&self, &mat2});
  Tensor out = zeros({self->size(0), mat2->size(2)}, self->dtype());
  use_cublas();
  if (op.differentiable()) {
    const Ptr<GroupedMmFallbackBackward> node =
        op.node<GroupedMmFallbackBackward>({&*self, &*mat2});
    node->self.keep(*self);
    node->mat2.keep(*mat2);
    node->offsets = offsets;
    set_history(out, node);
  }
  return out;
}

}  // namespace

Tensor grouped_mm(const In& self, const In& mat2, const Tensor& offsets) {
  if (!session().device.at_least(8))
    return grouped_mm_fallback(self, mat2, offsets);  // _can_use_grouped_mm
  Op op("_grouped_mm", {&self, &mat2});
  Ptr<GroupedMmBackward0> node;
  if (op.differentiable()) {
    node = op.node<GroupedMmBackward0>({&*self, &*mat2}, *self, *mat2);
    node->offsets.keep(offsets);
    if (node->wants(0)) node->mat2.keep(*mat2);
    if (node->wants(1)) node->self.keep(*self);
  }
  Tensor out = product(*self, *mat2, offsets);
  if (node) set_history(out, node);
  return out;
}

Tensor count_ids(const Tensor& ids, std::int64_t groups) {
  Op op("histc", {});
  return empty({groups}, ids.dtype());
}

Tensor ends_of_groups(const Tensor& counts) {
  Op op("cumsum", {});
  const std::int64_t groups = counts.size(0);
  Tensor ends = empty({groups}, DType::int32);
  const Tensor temporary = empty({cub::inclusive_sum_bytes(DType::int32, groups)}, DType::uint8);
  return ends;
}

Groups count_groups(const Tensor& sorted_ids, std::int64_t groups) {
  Groups found{.counts = count_ids(sorted_ids, groups), .offsets = {}};
  found.offsets = ends_of_groups(found.counts);
  return found;
}

}  // namespace memtape::ghost
