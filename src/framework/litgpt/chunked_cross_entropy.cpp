// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/chunked_cross_entropy.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::litgpt {
namespace {

Tensor rows_of(const Tensor& logits) { return logits.reshape({-1, logits.size(-1)}); }

/// non_masked_elems.maximum(torch.ones_like(non_masked_elems))
Tensor at_least_one(const Tensor& count) {
  const Tensor one = ghost::ones({}, DType::int64);
  const ghost::Op op("maximum", {});
  return ghost::empty({}, count.dtype());
}

Tensor mean_of(const std::vector<Tensor>& logit_chunks, const std::vector<Tensor>& target_chunks,
               const Tensor& targets) {
  std::vector<Tensor> loss_chunks;
  for (std::size_t i = 0; i < logit_chunks.size(); ++i)
    loss_chunks.push_back(ghost::cross_entropy_of_rows(logit_chunks[i], target_chunks[i]));
  const Tensor non_masked_elems = ghost::sum_of_bools(ghost::ne(targets, ghost::kIgnoreIndex));
  Tensor total = ghost::sum_all(ghost::cat(loss_chunks, 0));
  return std::move(total).div(at_least_one(non_masked_elems));
}

}  // namespace

std::vector<std::int64_t> chunk_sizes(std::int64_t total) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t start = 0; start < total; start += kChunkSize)
    sizes.push_back(std::min(kChunkSize, total - start));
  return sizes;
}

Tensor chunked_cross_entropy(const Tensor& whole, const Tensor& whole_targets) {
  const Tensor logits = rows_of(whole);
  const Tensor targets = whole_targets.reshape({-1});
  const std::vector<std::int64_t> sizes = chunk_sizes(logits.size(0));
  const std::vector<Tensor> logit_chunks = logits.split(sizes, 0);
  return mean_of(logit_chunks, targets.split(sizes, 0), targets);
}

Tensor chunked_cross_entropy(const std::vector<Tensor>& logits, const Tensor& targets) {
  std::vector<Tensor> logit_chunks, target_chunks;
  std::vector<std::int64_t> sizes;
  for (const Tensor& chunk : logits) {
    logit_chunks.push_back(rows_of(chunk));
    if (chunk.size(1) > 0) sizes.push_back(chunk.size(1));
  }
  for (const Tensor& chunk : targets.split(sizes, 1)) target_chunks.push_back(chunk.reshape({-1}));
  logit_chunks.resize(target_chunks.size());
  return mean_of(logit_chunks, target_chunks, targets);
}

}  // namespace memtape::litgpt
