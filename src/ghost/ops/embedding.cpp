// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/embedding.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cub.h"
#include "ghost/trace.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

Tensor embedding_scratch(Bytes bytes) { return empty({bytes}, DType::uint8); }
Tensor int64_row(std::int64_t count) { return empty({count}, DType::int64); }

/// Whether embedding_backward_cuda_kernel adds atomically into the gradient: few rows, so that
/// summing row by row would leave the device idle.
bool accumulates_atomically(std::int64_t segments, std::int64_t partial_segments,
                            std::int64_t width) {
  if (!has(changes::kEmbeddingAddsAtomically)) return false;
  constexpr std::int64_t kWarp = 32, kMaxBlock = 1024, kBlocksPerSm = 4;
  const std::int64_t padded = ceil_div(width, kWarp) * kWarp;
  const std::int64_t grid = ceil_div(segments * padded, std::min(padded, kMaxBlock));
  return grid < session().device.sm_count * kBlocksPerSm && partial_segments > grid * 4;
}

/// embedding_backward_cuda_kernel (EmbeddingBackwardKernel.cu): indices that name the same row are
/// summed in partial segments of up to 10, without asking the device how many there are.
Tensor gradient_of_sorted(std::int64_t count, const Dims& table, DType dtype) {
  constexpr std::int64_t kRowsPerThread = 10;
  const DeviceTraits& device = session().device;
  const DType accumulated = bits(dtype) == 16 ? DType::float32 : dtype;
  Tensor grad_weight = zeros(table, dtype);
  const Tensor segment_offsets = int64_row(count), segment_count = int64_row(1);
  {
    const Tensor unique_keys = int64_row(count),
                 temporary = embedding_scratch(cub::unique_by_key_bytes(device, count));
  }
  const std::int64_t segments = std::min(count, table[0]),
                     partials = count / kRowsPerThread + segments;
  const Tensor partials_per_segment = int64_row(segments), partials_offset = int64_row(segments);
  {
    const Tensor temporary = embedding_scratch(cub::inclusive_sum_bytes(DType::int64, segments));
  }
  const Tensor partial_count = int64_row(1), partial_offset = int64_row(partials);
  if (!accumulates_atomically(segments, partials, table[1])) {
    const Tensor per_segment = empty({partials, table[1]}, accumulated);
    return grad_weight;
  }
  const Tensor segment_of_partial = int64_row(partials);
  if (accumulated != dtype) const Tensor sums = zeros(table, accumulated);
  return grad_weight;
}

/// embedding_dense_backward_cuda (Embedding.cu): few indices go one by one, more are sorted first.
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, const Dims& table) {
  constexpr std::int64_t kFewIndices = 3072;
  Op op("embedding_dense_backward", {});
  const Tensor packed_indices = indices.contiguous();
  const Tensor packed_grad = grad.contiguous();
  const std::int64_t count = indices.numel();
  if (count <= kFewIndices) return zeros(table, grad.dtype());
  const std::int64_t bits = has(changes::kEmbeddingSortsNeededBits)
                                ? std::bit_width(static_cast<std::uint64_t>(table[0]))
                                : 64;
  const Tensor sorted_indices = int64_row(count), original_indices = int64_row(count);
  {
    const Tensor range = int64_row(count),
                 temporary = embedding_scratch(
                     cub::radix_sort_pairs_bytes(session().device, count, 8, bits));
  }
  return gradient_of_sorted(count, table, grad.dtype());
}

struct EmbeddingBackward0 final : Node {
  explicit EmbeddingBackward0(const Dims& table) : Node("EmbeddingBackward0"), sizes(table) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor picked = indices.unpack();
    out[0] = embedding_dense_backward(in[0], picked, sizes);
  }
  void release() override { indices.reset(); }
  Saved indices;
  Dims sizes;
};

}  // namespace

Tensor embedding(const Tensor& weight, const In& indices) {
  Op op("embedding", {&indices});
  traced_reads({&weight});
  Session& s = session();
  Ptr<EmbeddingBackward0> node;
  if (weight.requires_grad() && s.grad_enabled && !s.skipping) {
    node = op.node<EmbeddingBackward0>({&weight}, weight.sizes());
    node->indices.keep(*indices);
  }
  GradMode no_grad(false);  // what embedding is made of is not differentiated
  const Tensor flat = indices->reshape({-1});
  Tensor out = empty(indices->sizes().with(weight.size(1)), weight.dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor embedding_of_shard(const Tensor& shard, const Tensor& indices, std::int64_t rows) {
  Op op("embedding", {});
  Session& s = session();
  Ptr<EmbeddingBackward0> node;
  if (shard.requires_grad() && s.grad_enabled && !s.skipping) {
    const Dims table{rows, shard.size(1)};
    node = op.node<EmbeddingBackward0>({&shard}, table);
    node->edges[0].function->metadata[0].sizes = table;  // a DTensor's sizes are the whole's
    node->indices.keep(indices);
  }
  GradMode no_grad(false);
  Tensor mask, masked;
  {
    const Tensor below = empty(indices.sizes(), DType::boolean),
                 above = empty(indices.sizes(), DType::boolean);
    mask = empty(indices.sizes(), DType::boolean);
  }
  {
    const Tensor copy = empty(indices.sizes(), DType::int64);
    masked = empty(indices.sizes(), DType::int64);
  }
  Tensor out = empty(indices.sizes().with(shard.size(1)), shard.dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
