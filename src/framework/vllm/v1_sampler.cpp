// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/v1_sampler.h"

#include <algorithm>
#include <bit>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// torch.sort along the last dimension of [rows, columns] float32 (ATen/native/cuda/SortStable.cu):
/// many rows are sorted by segments, with the indices as values and cub's second buffers; few are
/// sorted whole, with pairs of index and row, twice.
struct Sorted {
  Tensor values, indices;
};
Sorted sorted_rows(const Tensor& rows) {
  constexpr std::int64_t kFewRows = 128;
  constexpr Bytes kKey = 4, kIndex = 8, kPair = 8;
  const Bytes items = rows.size(0) * rows.size(1);
  Sorted sorted;
  sorted.values = kernel_output("sort", rows.sizes(), DType::float32);
  sorted.indices = kernel_output("sort", rows.sizes(), DType::int64);
  if (rows.size(0) < kFewRows) {
    const Tensor pairs = scratch("index and segment", items * kPair);
    const Tensor sorted_pairs = scratch("index and segment", items * kPair);
    const Tensor keys = scratch("keys", items * kKey);
    scratch("cub", items * (kKey + kPair));
  } else {
    const Tensor reverse_indices = scratch("reverse indices", items * kIndex);
    scratch("cub", items * (kKey + kIndex));
  }
  return sorted;
}

/// apply_top_k_top_p: both masks, in the order of the sorted logits, then back into their own.
Tensor masked_logits(const Tensor& logits) {
  const Dims sizes = logits.sizes();
  const Sorted sorted = sorted_rows(logits);
  const Tensor below_k = kernel_output("lt", sizes, DType::boolean);
  const Tensor probs = kernel_output("softmax", sizes, DType::float32);
  const Tensor sums = kernel_output("cumsum", sizes, DType::float32);
  const Tensor below_p = kernel_output("le", sizes, DType::boolean);
  return kernel_output("scatter", sizes, DType::float32);
}

}  // namespace

void sample_by_sorting(const Tensor& logits) {
  const Tensor wide = kernel_output("to", logits.sizes(), DType::float32);
  const Tensor masked = masked_logits(wide);
  const Tensor probs = kernel_output("softmax", logits.sizes(), DType::float32);
  const Tensor noise = kernel_output("exponential", logits.sizes(), DType::float32);
}

Tensor mask_in_place(const Tensor& logits, std::int64_t sm_count) {
  const auto programs = static_cast<std::uint64_t>(std::min(sm_count, logits.size(0)));
  const std::int64_t rows = std::min(static_cast<std::int64_t>(std::bit_ceil(programs)), sm_count);
  return kernel_output("new_empty", {rows, logits.size(1)}, DType::float32);
}

Tensor sample_in_place(const Tensor& logits, std::int64_t sm_count) {
  const Tensor wide = kernel_output("to", logits.sizes(), DType::float32);
  Tensor buffer = mask_in_place(wide, sm_count);
  const Tensor probs = kernel_output("softmax", logits.sizes(), DType::float32);
  const Tensor noise = kernel_output("exponential", logits.sizes(), DType::float32);
  return buffer;
}

}  // namespace memtape::vllm
