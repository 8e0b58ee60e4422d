// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <functional>

#include "framework/megatron/attention.h"
#include "framework/megatron/head_exchange.h"
#include "framework/megatron/ring_attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "release/transformer_engine_changes.h"

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
  Tensor product = ghost::baddbmm(query.transpose(0, 1), key.transpose(0, 1).transpose(1, 2), 0.5);
  rank.use_cublas();
  return product;
}

/// A fused scale-mask-softmax kernel (ScaledUpperTriangMaskedSoftmax): keeps its result; backward
/// writes over the gradient.
Tensor fused_softmax(Rank& rank, const Tensor& x) {
  return apply({.name = "ScaledUpperTriangMaskedSoftmaxBackward",
                .inputs = {x},
                .forward =
                    [&](ToSave& save) {
                      Tensor out = empty(x.sizes(), x.dtype());
                      save = {out};
                      return out;
                    },
                .backward =
                    [&rank](std::span<const Tensor>, const Tensor& grad, Gradients& in) {
                      rank.use_cublas();  // of the product behind it, whose backward ran
                      in[0] = grad.contiguous();
                    }});
}

/// get_default_causal_mask of transformer/utils.py.
Tensor default_causal_mask(std::int64_t tokens) {
  Tensor mask = ghost::ones({tokens, tokens}, DType::float32);
  mask = ghost::triu(mask, 1);
  return mask.to(DType::boolean);
}

/// FusedScaleMaskSoftmax: the kernel where its constraints hold, else torch's own in float32.
Tensor scale_mask_softmax(Rank& rank, const Tensor& x, const Tensor& mask, const Dims& size) {
  const Arguments& a = rank.a;
  const bool half = x.dtype() != DType::float32;
  const bool kernel = half && (a.transformer_engine || a.masked_softmax_fusion) && size[3] > 16 &&
                      size[3] <= 16384 && size[2] % 4 == 0 && size[0] * size[1] % 4 == 0;
  if (kernel) return fused_softmax(rank, x);
  const bool casts = half && a.attention_softmax_in_fp32;
  const Tensor input = casts ? x.to_float() : x;  // a name until the function returns
  const Tensor causal = mask.defined() ? mask : default_causal_mask(size[2]);
  ghost::masked_fill_(input, causal, ghost::kLowest);
  Tensor probs = ghost::softmax(input, input.dtype());
  if (casts) probs = probs.to(x.dtype());
  return probs;
}

/// get_full_mask of pytorch/attention/dot_product_attention/utils.py: how far query and key are
/// apart, the two bounds of that, what lies beyond them, and with it the mask that was given.
Tensor full_mask(const AttentionMask& given, std::int64_t queries, std::int64_t keys) {
  const ghost::Op op("get_full_mask", {});
  const std::int64_t batch = given.padding ? given.tensor.size(0) : 1;
  const Dims sizes{batch, 1, queries, keys};
  Tensor padded, kept;
  if (given.padding) {
    padded = empty(sizes, DType::boolean);
    kept = empty(sizes, DType::boolean);
  }
  const DType bound = given.padding ? DType::int64 : DType::int32;
  const Tensor distance = empty({1, 1, queries, keys}, DType::int32), left = empty(sizes, bound),
               right = empty(sizes, bound);
  const Tensor not_before = empty(sizes, DType::boolean);
  Tensor after = empty(sizes, DType::boolean);
  const Tensor not_after = empty(sizes, DType::boolean);
  after.reset();
  const Tensor inside = empty(sizes, DType::boolean), outside = empty(sizes, DType::boolean);
  if (given.padding) return empty(sizes, DType::boolean);
  return given.tensor.defined() ? empty(given.tensor.sizes(), DType::boolean) : outside;
}

Tensor unfused(Rank& rank, const Tensor& query, const Tensor& key_, const Tensor& value_,
               const AttentionMask& given) {
  const bool te = rank.a.transformer_engine;
  const Tensor mask = te ? full_mask(given, query.size(0), key_.size(0)) : given.tensor;
  Tensor probs, result, value, key;  // which go in Python's order, the last first
  key = repeated(key_, query);
  value = repeated(value_, query);
  const Dims size{query.size(1), query.size(2), query.size(0), key.size(0)};
  const std::int64_t heads = size[0] * size[1];
  const Tensor q = query.reshape({size[2], heads, -1}), k = key.reshape({size[3], heads, -1});
  result = scores(rank, q, k).view(size);
  probs = scale_mask_softmax(rank, result, mask, size);
  if (te && given.padding) probs = ghost::masked_fill(probs, mask, 0);
  probs = ghost::dropout(probs, rank.a.attention_dropout);
  const Tensor v = value.reshape({size[3], heads, -1});
  const Tensor flat = probs.view({heads, size[2], -1});
  const std::int64_t depth = v.size(-1);
  Tensor context = ghost::bmm(flat, v.transpose(0, 1)).view({size[0], size[1], size[2], depth});
  context = context.permute({2, 0, 1, 3}).contiguous();
  return context.view({size[2], size[0], size[1] * depth});
}

/// Kernels that keep q, k, v, the output, a float32 statistic per row and head, and the random
/// state. `tokens` is the dimension of the sequence.
Tensor fused_kernel(Rank& rank, const std::array<Tensor, 3>& qkv, int tokens, const Dims& rows,
                    AttentionScratch scratch) {
  if (rank.a.rings_keys) return ring_attention(rank, qkv, rows, std::move(scratch));
  if (rank.a.exchanges_heads)
    return exchanged_heads_attention(rank, qkv, tokens, rows, std::move(scratch));
  const Tensor& query = qkv[0];
  const std::int64_t depth = qkv[2].size(-1);
  return apply({.name = "FusedAttnFuncBackward",
                .inputs = {qkv[0], qkv[1], qkv[2]},
                .forward =
                    [&](ToSave& save) {
                      Tensor out = empty(query.sizes().leading().with(depth), query.dtype());
                      const Tensor stats = empty(rows, DType::float32);
                      save = {qkv[0], qkv[1], qkv[2], out, stats, empty({2}, DType::int64)};
                      return out;
                    },
                .backward =
                    [scratch = std::move(scratch)](std::span<const Tensor> saved, const Tensor&,
                                                   Gradients& in) {
                      for (std::size_t i = 0; i < 3; ++i)
                        in[i] = empty(saved[i].sizes(), saved[i].dtype());
                      if (scratch) scratch(saved[0], saved[1]);
                    }});
}

/// cuDNN's, on [s, b, heads, d].
Tensor fused(Rank& rank, const Tensor& query, const Tensor& key, const Tensor& value) {
  const Dims rows{query.size(1), query.size(2), query.size(0), 1};
  return fused_kernel(rank, {query, key, value}, 0, rows, {})
      .view({query.size(0), query.size(1), query.size(2) * value.size(-1)});
}

std::int64_t rounded(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// mha_bwd of flash-attn 2's flash_api.cpp on [b, s, heads, d]: a float32 sum per row, and the
/// query's gradient in float32, once for each split of the keys where it must be deterministic.
/// Keys that several queries share have a gradient for each of them first.
void flash_scratch(const Tensor& query, const Tensor& key, bool deterministic) {
  const ghost::Op op("mha_bwd", {});
  const std::int64_t batch = query.size(0), heads = query.size(2), depth = query.size(3);
  const std::int64_t rows = rounded(query.size(1), 128),
                     width = rounded(depth, depth <= 128 ? 32 : 64);
  const Tensor sums = empty({batch, heads, rows}, DType::float32);
  const std::int64_t sms = ghost::session().device.sm_count;
  const std::int64_t splits = deterministic ? (sms + batch * heads - 1) / (batch * heads) : 1;
  const Tensor accumulated = empty({splits, batch, rows, heads, width}, DType::float32);
  if (key.size(2) == heads) return;
  const Dims each{batch, key.size(1), heads, depth};
  const Tensor key_grads = empty(each, key.dtype()), value_grads = empty(each, key.dtype());
}

/// [s, b, heads, d] as flash-attn wants it, [b, s, heads, d] packed: _PrepareQKVForFA.
Tensor sequence_second(const Tensor& t) { return t.transpose(0, 1).contiguous(); }

/// flash-attn behind Transformer Engine's FlashAttention: turned copies of q, k, v go in, and the
/// output is turned back into a copy.
Tensor flash(Rank& rank, const Tensor& query, const Tensor& key, const Tensor& value) {
  const bool deterministic = rank.a.deterministic_attention;
  const Tensor q = sequence_second(query), k = sequence_second(key), v = sequence_second(value);
  const Tensor out =
      fused_kernel(rank, {q, k, v}, 1, {q.size(0), q.size(2), q.size(1)},
                   [deterministic](const Tensor& saved_query, const Tensor& saved_key) {
                     flash_scratch(saved_query, saved_key, deterministic);
                   });
  const Tensor turned = out.transpose(0, 1).contiguous();
  return turned.view({turned.size(0), turned.size(1), turned.size(2) * turned.size(3)});
}

/// The sinks' part of the kernel: they go in as float32, and have a gradient.
Tensor with_sinks(const Tensor& context, const Tensor& sinks) {
  return apply({.name = "FusedAttnSinksBackward",
                .inputs = {context, sinks},
                .forward =
                    [&](ToSave& save) {
                      save = {empty(sinks.sizes(), DType::float32)};
                      return context.view(context.sizes());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = grad;
                      in[1] = empty(saved[0].sizes(), DType::bfloat16);
                    }});
}

/// Whether cuDNN's kernel serves training (nvte_get_fused_attn_backend of common/fused_attn): on
/// Blackwell it is not deterministic with dropout, below Hopper get_attention_backend wants flash.
bool fused_is_chosen(const Arguments& a) {
  const int major = ghost::session().device.major;
  if (major < 10) return major == 9;
  return !a.deterministic_attention || a.attention_dropout == 0.0;
}

/// get_attention_backend of pytorch/attention/dot_product_attention/utils.py: cuDNN's kernel goes
/// before flash-attn from compute capability 9.0 on, behind it elsewhere.
AttentionBackend chosen_backend(const Arguments& a) {
  if (a.attention_backend != AttentionBackend::automatic) return a.attention_backend;
  if (fused_is_chosen(a)) return AttentionBackend::fused;
  return a.deterministic_attention && !ghost::has(changes::kFlashAttentionCanBeDeterministic)
             ? AttentionBackend::unfused
             : AttentionBackend::flash;
}

}  // namespace

Tensor core_attention(Rank& rank, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionMask& mask, const Tensor& sinks) {
  const AttentionBackend backend = chosen_backend(rank.a);
  if (backend == AttentionBackend::local) return unfused(rank, query, key, value, mask);
  // get_qkv_layout: three slices of one tensor are taken as they lie, others are made contiguous.
  const bool slices =
      query.impl().storage == key.impl().storage && key.impl().storage == value.impl().storage;
  const Tensor q = slices ? query : query.contiguous(), k = slices ? key : key.contiguous(),
               v = slices ? value : value.contiguous();
  if (backend == AttentionBackend::unfused) return unfused(rank, q, k, v, mask);
  if (sinks.defined())  // flash-attn has none (get_attention_backend)
    return with_sinks(fused(rank, q, k, v), sinks);
  return backend == AttentionBackend::flash ? flash(rank, q, k, v) : fused(rank, q, k, v);
}

}  // namespace memtape::megatron
