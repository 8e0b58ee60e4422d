// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/ring_attention.h"

#include <memory>

#include "ghost/ops/views.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

using Tensors = std::vector<Tensor>;

Dims halved(Dims sizes) {
  sizes[0] = sizes[0] * sizes[1] / 2;  // half of the sequence, wherever that dimension is
  sizes[1] = 1;
  return sizes;
}

struct Ring {
  Rank& rank;
  Dims query, key, value, out, rows;
  DType dtype;

  std::int64_t key_values() const { return ghost::numel(key) + ghost::numel(value); }

  Tensor forward(const Tensor& q, ToSave& save, Tensors& random_states) const {
    const std::int64_t steps = rank.a.cp;
    Tensors buffers{empty({key_values()}, dtype)}, outs, statistics;
    Tensor statistic;
    for (std::int64_t i = 0; i < steps; ++i) {
      if (i + 1 < steps) buffers.push_back(empty({key_values()}, dtype));
      {
        const ghost::StreamGuard stream(i % 2 == 1 ? rank.cp_stream() : 0);
        outs.push_back(empty(out, dtype));
        statistics.push_back(empty(rows, DType::float32));
        random_states.push_back(empty({2}, DType::int64));
      }
      if (i == 1) statistic = empty(rows, DType::float32);
    }
    Tensor merged = empty(out, dtype);
    save = {q, buffers.back(), merged, statistic};
    return merged;
  }

  void backward(const AttentionScratch& scratch, const Tensor& q, Gradients& in) const {
    in[0] = empty(query, dtype);
    const Tensor received = empty({2, key_values()}, dtype), sent = empty({2, key_values()}, dtype);
    for (std::int64_t i = 0; i < rank.a.cp; ++i) {
      const bool own = i + 1 == rank.a.cp;
      const Dims part = own ? key : halved(key), value_part = own ? value : halved(value);
      const Tensor dq = empty(query, dtype), dk = empty(part, dtype), dv = empty(value_part, dtype);
      if (scratch) scratch(q, ghost::alias(dk, key, ghost::contiguous_strides(key)));
    }
    const std::int64_t each = ghost::numel(key);
    const Tensor flat = received.view({-1});
    in[1] = flat.slice(0, 0, each).view(key);
    in[2] = flat.slice(0, each, key_values()).view(value);
  }
};

}  // namespace

Tensor ring_attention(Rank& rank, const std::array<Tensor, 3>& qkv, const Dims& rows,
                      AttentionScratch scratch) {
  const Tensor& q = qkv[0];
  const Ring ring{.rank = rank,
                  .query = q.sizes(),
                  .key = qkv[1].sizes(),
                  .value = qkv[2].sizes(),
                  .out = q.sizes().leading().with(qkv[2].size(-1)),
                  .rows = rows,
                  .dtype = q.dtype()};
  // ctx.rng_states: kept by the node, not by what it saves, until its function goes.
  const auto random_states = std::make_shared<Tensors>();
  return apply({.name = "AttnFuncWithCPAndKVP2PBackward",
                .inputs = {qkv[0], qkv[1], qkv[2]},
                .forward = [&](ToSave& save) { return ring.forward(q, save, *random_states); },
                .backward = [ring, random_states, scratch = std::move(scratch)](
                                std::span<const Tensor> saved, const Tensor&,
                                Gradients& in) { ring.backward(scratch, saved[0], in); },
                .own = random_states});
}

}  // namespace memtape::megatron
