// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/sorting.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cub.h"
#include "ghost/ops/reduce_kernel.h"

namespace memtape::ghost {
namespace {

Tensor sorting_scratch(Bytes bytes) { return empty({bytes}, DType::uint8); }

/// should_use_multiblock of TensorTopK.cu: few long slices are each searched by several blocks.
bool uses_many_blocks(std::int64_t slices, std::int64_t slice) {
  if (slices <= 20) return slice >= 20000;
  if (slices <= 40) return slice >= 10000;
  if (slices <= 80) return slice >= 8000;
  if (slices < 200) return slice >= 5000;
  if (slices < 800) return slice >= 3000;
  return slice >= (slices <= 4000 ? 800 : 400);
}

/// mbtopk::get_items_per_thread; a processor holds as many blocks of 256 threads with 40 registers
/// as its 65,536 allow.
std::int64_t items_per_thread(std::int64_t elements) {
  constexpr std::int64_t kThreads = 256, kRegisters = 65536, kRegistersPerThread = 40, kFewest = 4,
                         kMost = 64;
  const std::int64_t blocks =
      session().device.sm_count * (kRegisters / (kRegistersPerThread * kThreads));
  return std::clamp(ceil_div(elements, blocks * kThreads), kFewest, kMost);
}

/// mbtopk::launch: the radix select of many blocks counts digits per block and scans the counts.
void search_with_many_blocks(const Tensor& self, std::int64_t slices, std::int64_t slice) {
  constexpr std::int64_t kThreads = 256, kDigits = 256;
  const std::int64_t per_block = items_per_thread(slices * slice) * kThreads;
  const std::int64_t blocks = slices * ceil_div(slice, per_block);
  const Bytes radix = std::max<Bytes>(4, bytes_of(self.dtype(), 1));
  const Tensor kth_values = empty({slices}, self.dtype()),
               ks_to_find = sorting_scratch(slices * 2 * 4);
  const Tensor desired = sorting_scratch(slices * 2 * radix),
               counts = sorting_scratch(blocks * kDigits * 2);
  const Tensor digit_sums = sorting_scratch(slices * kDigits * 4);
  const Tensor within_k = sorting_scratch(blocks * 4), kth = sorting_scratch(blocks * 4);
  for (int scan = 0; scan < 2; ++scan)
    const Tensor temporary = sorting_scratch(cub::sum_by_key_bytes(session().device, blocks));
}

/// value_selecting_reduction_backward of FunctionsManual.cpp: zeros, with the gradient scattered to
/// where the values came from.
struct SelectionBackward final : Node {
  SelectionBackward(const char* node_name, const Dims& input) : Node(node_name), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    out[0] = zeros(sizes, in[0].dtype());
  }
  void release() override { indices.reset(); }
  Saved indices;
  Dims sizes;
};

/// sort_cuda_kernel of Sort.cu. Rows of up to 4,096 are sorted in place, beside the numbers of
/// their elements (fillSliceWithIndex), and so is a row alone; up to 127 longer rows are sorted as
/// one, each element with its place and its row (segmented_sort_pairs_by_full_sort, whose sorted
/// keys nobody reads), and then by row; more are sorted side by side.
void sort_rows(const Tensor& self, std::int64_t rows) {
  constexpr std::int64_t kSmallSort = 4096, kFewRows = 128, kLongRow = 1'000'000, kPlaceAndRow = 8;
  const std::int64_t count = self.numel(), row = self.size(-1);
  const Bytes key = bytes_of(self.dtype(), 1);
  if (row <= kSmallSort || rows == 1 || row >= kLongRow) {
    const Tensor range = empty({row}, DType::int64);
    if (row > kSmallSort)
      const Tensor temporary =
          sorting_scratch(cub::radix_sort_pairs_bytes(session().device, row, key));
    return;
  }
  const Tensor place_and_row = sorting_scratch(count * kPlaceAndRow);
  if (rows >= kFewRows) {
    const Tensor temporary = sorting_scratch(count * (key + kPlaceAndRow));
    return;
  }
  const Tensor sorted_place_and_row = sorting_scratch(count * kPlaceAndRow);
  const Tensor sorted_keys = sorting_scratch(count * key);
  const Tensor temporary =
      sorting_scratch(cub::radix_sort_pairs_bytes(session().device, count, key));
}

}  // namespace

ValuesAndIndices sort(const In& self) {
  Op op("sort", {&self});
  Tensor values = empty(self->sizes(), self->dtype());
  Tensor indices = empty(self->sizes(), DType::int64);
  sort_rows(*self, self->numel() / std::max<std::int64_t>(self->size(-1), 1));
  return {std::move(values), std::move(indices)};
}

ValuesAndIndices topk(const In& self, std::int64_t k) {
  Op op("topk", {&self});
  const Dims sizes = self->sizes().leading().with(k);
  Ptr<SelectionBackward> node;
  if (op.differentiable())
    node = op.node<SelectionBackward>({&*self}, "TopkBackward0", self->sizes());
  Tensor values = empty(sizes, self->dtype());
  Tensor indices = empty(sizes, DType::int64);
  const GradMode no_grad(false);
  const Tensor packed = self->contiguous();
  const std::int64_t slice = self->size(-1),
                     slices = self->numel() / std::max<std::int64_t>(slice, 1);
  if (uses_many_blocks(slices, slice)) search_with_many_blocks(packed, slices, slice);
  if (node) {
    set_history(values, node);
    node->indices.keep_result(indices);
  }
  return {std::move(values), std::move(indices)};
}

ValuesAndIndices topk_of_columns(const Tensor& self, std::int64_t k) {
  Op op("topk", {});
  Tensor values = empty({k, self.size(1)}, self.dtype());
  Tensor indices = empty({k, self.size(1)}, DType::int64);
  if (uses_many_blocks(self.size(1), self.size(0)))
    search_with_many_blocks(self, self.size(1), self.size(0));
  return {std::move(values), std::move(indices)};
}

ValuesAndIndices max_along_last(const In& self) {
  Op op("max", {&self});
  Ptr<SelectionBackward> node;
  if (op.differentiable())
    node = op.node<SelectionBackward>({&*self}, "MaxBackward0", self->sizes());
  const Dims sizes = self->sizes().leading().with(1);
  Tensor values = empty(sizes, self->dtype());
  Tensor indices = empty(sizes, DType::int64);
  reduce_scratch(*self, dim_set(self->dim() - 1), self->dtype(), kValueAndPlace);
  if (node) {
    set_history(values, node);
    node->indices.keep_result(indices);
  }
  return {std::move(values), std::move(indices)};
}

}  // namespace memtape::ghost
