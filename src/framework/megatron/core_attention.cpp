// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// Keys or values of a group, once for each of its queries.
Tensor repeated(const Tensor& t, const Tensor& query) {
  const std::int64_t times = query.size(2) / t.size(2);
  return times > 1 ? ghost::repeat_interleave(t, times, 2) : t;
}

/// torch.baddbmm(buffer, q, k^T, beta=0): `buffer` is Megatron's global one or a fresh tensor.
Tensor scores(Rank& rank, const Tensor& query, const Tensor& key) {
  const std::int64_t heads = query.size(1);
  const Dims sizes{heads, query.size(0), key.size(0)};
  Tensor unread;
  if (rank.a.transformer_engine)
    unread = empty(sizes, query.dtype());
  else
    unread = rank.global_buffer(sizes, query.dtype());
  return ghost::baddbmm(query.transpose(0, 1), key.transpose(0, 1).transpose(1, 2), 0.5);
}

/// A fused scale-mask-softmax kernel (ScaledUpperTriangMaskedSoftmax): keeps its result; backward
/// writes over the gradient.
Tensor fused_softmax(const Tensor& x) {
  return apply({.name = "ScaledUpperTriangMaskedSoftmaxBackward",
                .inputs = {x},
                .forward =
                    [&](ToSave& save) {
                      Tensor out = empty(x.sizes(), x.dtype());
                      save = {out};
                      return out;
                    },
                .backward = [](std::span<const Tensor>, const Tensor& grad,
                               Gradients& in) { in[0] = empty(grad.sizes(), grad.dtype()); }});
}

/// FusedScaleMaskSoftmax: the kernel where its constraints hold, else torch's own in float32.
Tensor scale_mask_softmax(const Arguments& a, const Tensor& x, const Tensor& mask,
                          const Dims& size) {
  const bool half = x.dtype() != DType::float32;
  const bool kernel = half && (a.transformer_engine || a.masked_softmax_fusion) && size[3] > 16 &&
                      size[3] <= 16384 && size[2] % 4 == 0 && size[0] * size[1] % 4 == 0;
  if (kernel) return fused_softmax(x);
  Tensor input = half && a.attention_softmax_in_fp32 ? x.to_float() : x;
  Tensor causal = mask;
  if (!causal.defined()) {
    const Tensor ones = ghost::ones({size[2], size[3]}, DType::float32);
    causal = ghost::plain_unary("triu", ones).to(DType::boolean);
  }
  ghost::masked_fill_(input, causal);
  const Tensor probs = ghost::softmax(input, input.dtype());
  input.reset();
  return half && a.attention_softmax_in_fp32 ? probs.to(x.dtype()) : probs;
}

Tensor unfused(Rank& rank, const Tensor& query, const Tensor& key_, const Tensor& value_,
               const Tensor& mask) {
  const Tensor key = repeated(key_, query), value = repeated(value_, query);
  const Dims size{query.size(1), query.size(2), query.size(0), key.size(0)};
  const std::int64_t heads = size[0] * size[1];
  const Tensor q = query.reshape({size[2], heads, -1}), k = key.reshape({size[3], heads, -1});
  Tensor probs;
  {
    const Tensor result = scores(rank, q, k).view(size);
    probs = scale_mask_softmax(rank.a, result, mask, size);
  }
  probs = ghost::dropout(probs, rank.a.attention_dropout);
  const Tensor v = value.reshape({size[3], heads, -1});
  const Tensor flat = probs.view({heads, size[2], -1});
  const std::int64_t depth = v.size(-1);
  Tensor context = ghost::bmm(flat, v.transpose(0, 1)).view({size[0], size[1], size[2], depth});
  context = context.permute({2, 0, 1, 3}).contiguous();
  return context.view({size[2], size[0], size[1] * depth});
}

/// cuDNN's and flash-attn's kernels: keep q, k, v, the output, a float32 statistic per row and
/// head, and the random state.
Tensor fused(const Tensor& query, const Tensor& key, const Tensor& value, bool dropout) {
  const std::int64_t depth = value.size(-1);
  const Dims out_sizes{query.size(0), query.size(1), query.size(2), depth};
  return apply({.name = "FusedAttnFuncBackward",
                .inputs = {query, key, value},
                .forward =
                    [&](ToSave& save) {
                      Tensor out = empty(out_sizes, query.dtype());
                      const Tensor stats =
                          empty({query.size(1), query.size(2), query.size(0), 1}, DType::float32);
                      const Tensor random = dropout ? empty({2}, DType::int64) : Tensor();
                      save = {query, key, value, out, stats, random};
                      return out;
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      const Tensor packed = grad.contiguous();
                      for (std::size_t i = 0; i < 3; ++i)
                        in[i] = empty(saved[i].sizes(), saved[i].dtype());
                    }})
      .view({query.size(0), query.size(1), query.size(2) * depth});
}

/// [s, b, heads, d] as flash-attn wants it, [b, s, heads, d] packed: _PrepareQKVForFA.
Tensor sequence_second(const Tensor& t) { return t.transpose(0, 1).contiguous(); }

/// flash-attn behind Transformer Engine's FlashAttention: turned copies of q, k, v go in, and the
/// output is turned back into a copy.
Tensor flash(const Tensor& query, const Tensor& key, const Tensor& value, bool dropout) {
  const Tensor q = sequence_second(query), k = sequence_second(key), v = sequence_second(value);
  const Tensor out = fused(q, k, v, dropout);
  return out.transpose(0, 1).contiguous();
}

/// get_attention_backend of pytorch/attention/dot_product_attention/utils.py: cuDNN's kernel goes
/// before flash-attn on compute capability 9.0, behind it elsewhere.
AttentionBackend chosen_backend(const Arguments& a) {
  if (a.attention_backend != AttentionBackend::automatic) return a.attention_backend;
  const bool hopper = ghost::session().device.major == 9;
  return hopper ? AttentionBackend::fused : AttentionBackend::flash;
}

}  // namespace

Tensor core_attention(Rank& rank, const Tensor& query, const Tensor& key, const Tensor& value,
                      const Tensor& mask) {
  const AttentionBackend backend = chosen_backend(rank.a);
  if (backend == AttentionBackend::local) return unfused(rank, query, key, value, mask);
  // get_qkv_layout: three slices of one tensor are taken as they lie, others are made contiguous.
  const bool slices =
      query.impl().storage == key.impl().storage && key.impl().storage == value.impl().storage;
  const Tensor q = slices ? query : query.contiguous(), k = slices ? key : key.contiguous(),
               v = slices ? value : value.contiguous();
  if (backend == AttentionBackend::unfused) return unfused(rank, q, k, v, mask);
  const bool dropout = rank.a.attention_dropout > 0;
  return backend == AttentionBackend::flash ? flash(q, k, v, dropout) : fused(q, k, v, dropout);
}

}  // namespace memtape::megatron
