// SPDX-License-Identifier: Apache-2.0
// Attention with a cache (llama-graph.cpp, build_qkv, build_attn, build_attn_mha;
// llama-kv-cache.cpp, cpy_k, cpy_v, get_k, get_v).
#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

using ggml::Type;

Qkv GraphBuilder::qkv_flat(std::int64_t il, Tensor* x, std::int64_t q, std::int64_t k,
                           std::int64_t v) {
  Tensor* all = w(il, "attn_qkv.weight");
  if (!all) {
    const auto one = [&](std::string_view weight, std::string_view bias) {
      Tensor* y = biased(mm(w(il, weight), x), w(il, bias));
      return hp.clamp_kqv > 0 ? g.clamp(y) : y;
    };
    Tensor* query = one("attn_q.weight", "attn_q.bias");
    Tensor* key = one("attn_k.weight", "attn_k.bias");
    return {query, key, one("attn_v.weight", "attn_v.bias")};
  }
  Tensor* y = biased(mm(all, x), w(il, "attn_qkv.bias"));
  const auto part = [&](std::int64_t width, std::int64_t from) {
    return g.view_2d(y, {width, n_tokens, 1, 1}, y->nb[1], ggml::row_size(y->type, from));
  };
  Tensor *query = part(q, 0), *key = part(k, q), *value = part(v, q + k);
  query = g.cont(query);
  key = g.cont(key);
  return {query, key, g.cont(value)};
}

Qkv GraphBuilder::qkv(std::int64_t il, Tensor* x, Heads heads) {
  Tensor* all = w(il, "attn_qkv.weight");
  const std::int64_t size = heads.size;
  if (!all) {
    const Qkv flat = qkv_flat(il, x, size * heads.q, size * heads.kv, size * heads.kv);
    Tensor* q = g.reshape(flat.q, {size, heads.q, n_tokens, 1});
    Tensor* k = g.reshape(flat.k, {size, heads.kv, n_tokens, 1});
    return {q, k, g.reshape(flat.v, {size, heads.kv, n_tokens, 1})};
  }
  Tensor* y = biased(mm(all, x), w(il, "attn_qkv.bias"));
  if (hp.clamp_kqv > 0) y = g.clamp(y);
  const auto part = [&](std::int64_t count, std::int64_t from) {
    return g.view_3d(y, {size, count, n_tokens, 1}, ggml::row_size(y->type, size), y->nb[1],
                     ggml::row_size(y->type, from * size));
  };
  Tensor *q = part(heads.q, 0), *k = part(heads.kv, heads.q);
  Tensor* v = part(heads.kv, heads.q + heads.kv);
  if (!build().views_fused_queries()) {
    q = g.cont(q);
    k = g.cont(k);
  }
  return {q, k, build().views_fused_values() ? v : g.cont(v)};
}

/// With a Hadamard matrix, which spreads outliers over a quantized row.
Tensor* GraphBuilder::rotated(Tensor* x, Tensor* rotation) {
  if (!rotation) return x;
  const ggml::Extents shape{rotation->ne[0], x->elements() / rotation->ne[0], 1, 1};
  Tensor* y = ggml::is_contiguous(*x) ? g.reshape(x, shape) : g.cont(x, shape);
  return g.reshape(g.mul_mat(rotation, y), x->ne);
}

Tensor* GraphBuilder::store_v(Tensor* cache, Tensor* v, Tensor* rows) {
  const std::int64_t width = v->ne[0] * v->ne[1], tokens = v->ne[2];
  if (!job_.caches.transposed_v) {
    v = g.view_2d(v, {width, tokens, 1, 1}, v->nb[2], 0);
    if (cache->ne[2] > 1) cache = g.reshape(cache, {width, cache->ne[1] * cache->ne[2], 1, 1});
    return g.set_rows(cache, v, rows);
  }
  v = ggml::row_size(v->type, width) == v->nb[2] ? g.reshape(v, {width, tokens, 1, 1})
                                                 : g.cont(v, {width, tokens, 1, 1});
  if (width < cache->ne[0]) v = g.pad(v, {cache->ne[0] - width, 0, 0, 0});
  Tensor* elements = g.reshape(cache, {1, cache->elements(), 1, 1});
  v = g.reshape(v, {1, v->elements(), 1, 1});
  return g.set_rows(elements, v, rows);
}

void GraphBuilder::store(const CacheInputs& in, std::size_t at, Qkv qkv) {
  const KeyValue& cached = (in.cache == &job_.caches.full ? full_ : window_)[at];
  if (!in.k_rows) return store_views(cached, qkv);
  Tensor* k = g.view_2d(qkv.k, {qkv.k->ne[0] * qkv.k->ne[1], qkv.k->ne[2], 1, 1}, qkv.k->nb[2], 0);
  Tensor* cache = cached.k;
  if (cache->ne[2] > 1) cache = g.reshape(cache, {cache->ne[0], cache->ne[1] * cache->ne[2], 1, 1});
  g.expand(g.set_rows(cache, k, in.k_rows));
  if (in.v_rows) g.expand(store_v(cached.v, qkv.v, in.v_rows));
}

/// Copied to the cache's next cells, which lie together.
void GraphBuilder::store_views(const KeyValue& cached, Qkv qkv) {
  g.expand(g.cpy(qkv.k, g.view_1d(cached.k, qkv.k->elements(), 0)));
  Tensor* v = g.reshape(qkv.v, {qkv.v->ne[0] * qkv.v->ne[1], qkv.v->ne[2], 1, 1});
  if (!job_.caches.transposed_v) {
    g.expand(g.cpy(v, g.view_1d(cached.v, v->elements(), 0)));
    return;
  }
  v = g.transpose(v);
  const Bytes row = ggml::row_size(cached.v->type, cached.v->ne[1]);
  g.expand(g.cpy(v, g.view_2d(cached.v, {v->ne[0], v->ne[1], 1, 1}, row, 0)));
}

Tensor* GraphBuilder::k_view(const CacheInputs& in, std::size_t at, std::int64_t il) {
  Tensor* k = (in.cache == &job_.caches.full ? full_ : window_)[at].k;
  const Bytes row = ggml::row_size(k->type, k->ne[0]);
  return g.view(k, {.ne = {hp.k_head(il), hp.n_head_kv(il), in.cache->cells, job_.caches.streams},
                    .nb1 = ggml::row_size(k->type, hp.k_head(il)),
                    .nb2 = row,
                    .nb3 = row * in.cache->cells});
}

Tensor* GraphBuilder::v_view(const CacheInputs& in, std::size_t at, std::int64_t il) {
  Tensor* v = (in.cache == &job_.caches.full ? full_ : window_)[at].v;
  const std::int64_t cells = in.cache->cells, heads = hp.n_head_kv(il);
  const Bytes all = ggml::row_size(v->type, v->ne[0] * cells);
  if (!job_.caches.transposed_v)
    return g.view(v, {.ne = {hp.v_head(il), heads, cells, job_.caches.streams},
                      .nb1 = ggml::row_size(v->type, hp.v_head(il)),
                      .nb2 = ggml::row_size(v->type, v->ne[0]),
                      .nb3 = all});
  return g.view(v, {.ne = {cells, heads, hp.v_head(il), job_.caches.streams},
                    .nb1 = ggml::row_size(v->type, cells * hp.v_head(il)),
                    .nb2 = ggml::row_size(v->type, cells),
                    .nb3 = all});
}

Tensor* GraphBuilder::attention(const AttentionInputs& in, std::int64_t il, Qkv qkv, Tensor* wo,
                                const AttentionExtras& extras) {
  if (hp.no_cache)
    return attention_uncached((hp.is_swa(il) ? in.window : in.full).mask, il, qkv, wo, extras);
  const CacheInputs& of = hp.is_swa(il) && in.window.cache ? in.window : in.full;
  const int at = of.cache->index_of[static_cast<std::size_t>(il)];
  if (at < 0) {
    g.fail("attention in a layer without a cache");
    return qkv.q;
  }
  const auto index = static_cast<std::size_t>(at);
  qkv.q = rotated(qkv.q, of.k_rotation);
  if (qkv.k) {
    qkv.k = rotated(qkv.k, of.k_rotation);
    qkv.v = rotated(qkv.v, of.v_rotation);
  }
  g.expand(qkv.q);
  if (qkv.k) {
    // the two kinds differ in their order
    const bool values_first = !in.window.cache && build().values_first();
    g.expand(values_first ? qkv.v : qkv.k);
    g.expand(values_first ? qkv.k : qkv.v);
    store(of, index, qkv);
  }
  Tensor* k = k_view(of, index, il);
  Tensor* v = v_view(of, index, il);
  if (extras.v_mla && build().views_latent_values()) v = within_latents(k, v->ne[0]);
  Tensor* x = mha({qkv.q, k, v}, of.mask, extras, il);
  x = rotated(x, of.v_rotation);
  if (wo) x = mm(wo, x);
  return biased(x, extras.wo_bias);
}

Tensor* GraphBuilder::attention_uncached(Tensor* mask, std::int64_t il, Qkv qkv, Tensor* wo,
                                         const AttentionExtras& extras) {
  g.expand(qkv.q);
  g.expand(qkv.k);
  g.expand(qkv.v);
  Tensor* x = mha(qkv, mask, extras, il);
  return biased(wo ? mm(wo, x) : x, extras.wo_bias);
}

/// V as the beginning of K.
Tensor* GraphBuilder::within_latents(Tensor* k, std::int64_t width) {
  return g.view(k, {.ne = {width, k->ne[1], k->ne[2], k->ne[3]},
                    .nb1 = k->nb[1],
                    .nb2 = k->nb[2],
                    .nb3 = k->nb[3]});
}

/// The cache holds what K and V have in common: V is the beginning of K.
Tensor* GraphBuilder::attention_k(const AttentionInputs& in, std::int64_t il, Qkv qkv, Tensor* wo,
                                  const AttentionExtras& extras) {
  const int at = in.full.cache->index_of[static_cast<std::size_t>(il)];
  if (at < 0) {
    g.fail("attention in a layer without a cache");
    return qkv.q;
  }
  g.expand(qkv.q);
  g.expand(qkv.v);
  g.expand(qkv.k);
  store(in.full, static_cast<std::size_t>(at), qkv);
  Tensor* mask = extras.chosen ? masked_but(in.full.mask, extras.chosen) : in.full.mask;
  Tensor* k = k_view(in.full, static_cast<std::size_t>(at), il);
  Tensor* v = within_latents(k, qkv.v->ne[0]);
  Tensor* x = mha({qkv.q, k, v}, mask, extras, il);
  return biased(wo ? mm(wo, x) : x, extras.wo_bias);
}

Tensor* GraphBuilder::mha(Qkv qkv, Tensor* mask, const AttentionExtras& extras, std::int64_t il) {
  const bool transposed = qkv.v->nb[1] > qkv.v->nb[2];
  const std::int64_t streams = qkv.k->ne[3];
  Tensor* q = qkv.q;
  const std::int64_t each = q->ne[2] / streams;
  q = g.view(q, {.ne = {q->ne[0], q->ne[1], each, streams},
                 .nb1 = q->nb[1],
                 .nb2 = q->nb[2],
                 .nb3 = q->nb[2] * each});
  qkv.q = g.permute(q, {0, 2, 1, 3});
  qkv.k = g.permute(qkv.k, {0, 2, 1, 3});
  qkv.v = g.permute(qkv.v, {0, 2, 1, 3});
  const bool flash = job_.flash && !extras.bias;
  if (flash && transposed) qkv.v = g.transpose(qkv.v);
  Tensor* x = nullptr;
  if (flash) {
    x = with_flash(qkv, mask, extras, il);
  } else {
    if (!transposed) qkv.v = g.cont(g.transpose(qkv.v));
    x = without_flash(qkv, mask, extras);
  }
  g.expand(x);
  return x;
}

Tensor* GraphBuilder::with_flash(Qkv qkv, Tensor* mask, const AttentionExtras& extras,
                                 std::int64_t il) {
  if (qkv.k->type == Type::f32) qkv.k = g.cast(qkv.k, Type::f16);
  if (qkv.v->type == Type::f32) qkv.v = g.cast(qkv.v, Type::f16);
  Tensor* x = g.flash_attention(qkv.q, qkv.k, qkv.v, mask);
  x->max_bias = static_cast<float>(hp.max_alibi_bias);
  flash_nodes_.emplace_back(x, il);
  x->src[4] = extras.sinks;
  if (extras.v_mla) {
    x = g.mul_mat(extras.v_mla, g.permute(x, {0, 2, 1, 3}));
    x = g.cont(g.permute(x, {0, 2, 1, 3}));
  }
  return g.reshape(x, {x->ne[0] * x->ne[1], x->ne[2] * x->ne[3], 1, 1});
}

Tensor* GraphBuilder::without_flash(Qkv qkv, Tensor* mask, const AttentionExtras& extras) {
  Tensor* scores = g.mul_mat(qkv.k, qkv.q);
  if (hp.attn_soft_cap) scores = g.scale(g.unary(ggml::Unary::tanh, g.scale(scores)));
  if (extras.bias) scores = g.add(scores, extras.bias);
  scores = g.soft_max(scores, mask, static_cast<float>(hp.max_alibi_bias));
  scores->src[2] = extras.sinks;
  Tensor* x = g.mul_mat(qkv.v, scores);
  if (extras.v_mla) x = g.mul_mat(extras.v_mla, x);
  x = g.permute(x, {0, 2, 1, 3});
  x = g.cont(x, {x->ne[0] * x->ne[1], x->ne[2] * x->ne[3], 1, 1});
  if (!job_.settings.kv_offload) pins_.emplace_back(x, job_.devices.cpu());
  return x;
}

}  // namespace memtape::llamacpp
