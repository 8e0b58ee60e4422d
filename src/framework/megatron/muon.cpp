// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/muon.h"

#include <algorithm>

#include "ghost/ops/matmul.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

const Parameter& parameter_of(const Dealt& dealt) { return dealt.buffer->parameters[dealt.index]; }

}  // namespace

std::vector<Dealt> dealt_to(const std::vector<Dealt>& all, std::array<std::int64_t, 2> rank) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return parameter_of(all[i]).tensor.numel(); });
  std::array<std::int64_t, 2> next{};
  std::vector<bool> mine(all.size());
  for (const std::size_t i : order) {
    const std::size_t kind = parameter_of(all[i]).expert ? 1 : 0;
    const std::int64_t ranks = all[i].buffer->options.ranks;
    const std::int64_t at = next[kind]++ % (2 * ranks);
    mine[i] = (at < ranks ? at : 2 * ranks - 1 - at) == rank[kind];
  }
  std::vector<Dealt> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (mine[i]) kept.push_back(all[i]);
  return kept;
}

void orthogonalize(const Dims& sizes, std::int64_t steps) {
  const ghost::GradMode without(false);
  const ghost::Op op("newton_schulz", {});
  const bool tall = sizes[0] > sizes[1];
  const Dims lying{tall ? sizes[1] : sizes[0], tall ? sizes[0] : sizes[1]};
  Tensor x;
  {
    const Tensor normalized = empty(lying, DType::float32);
    x = empty(lying, DType::bfloat16);
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor products = x.matmul(x.t());
    const Tensor polynomial = empty(products.sizes(), DType::bfloat16);
    x = empty(lying, DType::bfloat16);
  }
  const Tensor update = empty(lying, DType::float32);
  x.reset();
  const Tensor scaled = empty(lying, DType::float32);
  const Tensor scaled_again = empty(lying, DType::float32);
}

void gather_dealt(std::span<const ParamAndGradBuffer> buffers) {
  const ghost::Op op("allgather_params", {});
  for (const ParamAndGradBuffer& buffer : buffers) {
    if (buffer.options.ranks == 1) continue;
    std::int64_t elements = 0;
    for (const Parameter& parameter : buffer.parameters) elements += parameter.tensor.numel();
    const Tensor flat = empty({elements}, buffer.parameters.front().tensor.dtype());
  }
}

}  // namespace memtape::megatron
