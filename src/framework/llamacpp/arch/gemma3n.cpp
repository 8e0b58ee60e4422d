// SPDX-License-Identifier: Apache-2.0
// gemma3n: four streams of activations, of which one is computed and the others follow (AltUp), a
// low-rank path beside attention (LAuReL), an embedding per layer; the last layers have no keys and
// values of their own.
#include "framework/llamacpp/arch/per_layer_inputs.h"

namespace memtape::llamacpp::arch {
namespace gemma3n {
namespace {

using ggml::Unary;

// llama-hparams.h, which no file can change
constexpr std::int64_t kStreams = 4, kLaurelRank = 64, kEmbeddingPerLayer = 256;
constexpr std::int64_t kLayersWithCache = 20, kSparseLayers = 10, kFullLayerEvery = 5;

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = true;
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.read_swa_pattern(keys, kFullLayerEvery);
  hp.n_layer_kv_from_start = kLayersWithCache;
  hp.n_embd_per_layer = kEmbeddingPerLayer;
  hp.final_logit_softcapping = 1;  // always capped
  hp.usually_tied = true;
  if (hp.n_layer() < kLayersWithCache) keys.fail("block_count", "must be 20 or more");
}

void list_streams(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "altup_correct_coef.weight", {kStreams, kStreams});
  weights.add(il, "altup_correct_scale.weight", {hp.n_embd});
  weights.add(il, "altup_predict_coef.weight", {kStreams, kStreams * kStreams});
  weights.add(il, "altup_router.weight", {hp.n_embd, kStreams});
  weights.add(il, "altup_router_norm.weight", {hp.n_embd});
  weights.add(il, "laurel_l.weight", {hp.n_embd, kLaurelRank});
  weights.add(il, "laurel_r.weight", {kLaurelRank, hp.n_embd});
  weights.add(il, "laurel_post_norm.weight", {hp.n_embd});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.output(hp);  // before the embeddings that it may be
  weights.token_embeddings(hp);
  for (const char* name : {"altup_proj.weight", "altup_unembd_proj.weight"})
    weights.add(-1, name, {hp.n_embd, hp.n_embd, kStreams - 1});
  list_per_layer_inputs(hp, weights);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {hp.head_k});
    weights.add(il, "attn_k_norm.weight", {hp.head_k});
    for (const char* name : {"attn_norm.weight", "post_attention_norm.weight", "ffn_norm.weight",
                             "post_ffw_norm.weight"})
      weights.add(il, name, {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff(il));
    list_per_layer_gate(hp, il, weights);
    list_streams(hp, il, weights);
  }
}

Tensor* magnitude(GraphBuilder& b, Tensor* x) { return b.g.sqrt(b.g.sum_rows(b.g.sqr(x))); }

/// The other streams at the length of the first.
Tensor* at_length(GraphBuilder& b, Tensor* x, Tensor* length) {
  Tensor* own = magnitude(b, x);
  return b.g.div(b.g.mul(x, length), own);
}

Tensor* modalities(GraphBuilder& b, std::int64_t il, Tensor* x) {
  x = b.g.scale(b.rms(x, b.w(il, "altup_router_norm.weight"), il));
  return b.g.unary(Unary::tanh, b.mm(b.w(il, "altup_router.weight"), x));
}

Tensor* predicted(GraphBuilder& b, std::int64_t il, Tensor* x) {
  Tensor* all = b.mm(b.w(il, "altup_predict_coef.weight"), modalities(b, il, slice(b, x, 0)));
  all = b.g.reshape(all, {kStreams, kStreams, b.n_tokens, 1});
  Tensor* turned = b.g.cont(b.g.permute(x, {1, 2, 0, 3}));
  Tensor* y = b.g.cont(b.g.permute(b.mm(turned, all), {0, 2, 1, 3}));
  return b.g.add(y, x);
}

Tensor* corrected(GraphBuilder& b, std::int64_t il, Tensor* predictions, Tensor* activated) {
  Tensor* of_activated = modalities(b, il, activated);
  Tensor* innovation = b.g.sub(activated, slice(b, predictions, 0));
  Tensor* all = b.g.scale(b.mm(b.w(il, "altup_correct_coef.weight"), of_activated));
  all = b.g.cont(b.g.transpose(all), {1, b.n_tokens, kStreams, 1});
  innovation = b.g.repeat(innovation, {b.hp.n_embd, b.n_tokens, kStreams, 1});
  return b.g.add(b.g.mul(innovation, all), predictions);
}

Tensor* laurel(GraphBuilder& b, std::int64_t il, Tensor* x) {
  Tensor* y = b.mm(b.w(il, "laurel_r.weight"), b.mm(b.w(il, "laurel_l.weight"), x));
  return b.g.add(b.rms(y, b.w(il, "laurel_post_norm.weight"), il), x);
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv{};
  if (hp.has_kv(il)) {
    qkv = b.qkv(il, x, {hp.head_k, hp.n_head(), hp.n_head_kv()});
    qkv.k = b.rope(b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il), positions);
    qkv.v = b.g.rms_norm(qkv.v);
  } else {
    qkv.q = b.g.reshape(b.mm(b.w(il, "attn_q.weight"), x), {hp.head_k, hp.n_head(), b.n_tokens, 1});
  }
  qkv.q = b.rope(b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il), positions);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

/// What exceeds the mean by some deviations.
Tensor* sparse(GraphBuilder& b, Tensor* x) {
  ggml::Graph& g = b.g;
  Tensor* mean = g.mean(x);
  Tensor* deviation = g.sqrt(g.scale(g.sum_rows(g.sqr(g.sub(x, mean)))));
  return g.unary(Unary::relu, g.sub(x, g.add(mean, g.scale(deviation))));
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  Tensor* up = b.mm(b.w(il, "ffn_up.weight"), x);
  Tensor* gate = b.mm(b.w(il, "ffn_gate.weight"), x);
  if (il < kSparseLayers) gate = sparse(b, gate);
  return b.mm(b.w(il, "ffn_down.weight"), b.g.mul(up, b.g.unary(Unary::gelu, gate)));
}

Tensor* rest_of_streams(GraphBuilder& b, Tensor* x) {
  const Bytes row = ggml::row_size(x->type, b.hp.n_embd);
  return b.g.view_3d(x, {b.hp.n_embd, b.n_tokens, kStreams - 1, 1}, row, row * b.n_tokens,
                     row * b.n_tokens);
}

Tensor* layer(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
              Tensor* positions, Tensor* parts) {
  Tensor* predictions = predicted(b, il, x);
  Tensor* active = slice(b, predictions, 0);
  Tensor* y = b.rms(active, b.w(il, "attn_norm.weight"), il);
  Tensor* beside = laurel(b, il, y);
  y = attended(b, in, il, y, positions);
  y = b.g.add(b.rms(y, b.w(il, "post_attention_norm.weight"), il), active);
  Tensor* both = b.g.scale(b.g.add(y, beside));
  y = feed_forward(b, il, b.rms(both, b.w(il, "ffn_norm.weight"), il));
  y = b.g.add(b.rms(y, b.w(il, "post_ffw_norm.weight"), -1), both);
  Tensor* next = corrected(b, il, predictions, y);
  Tensor* first = b.g.mul(slice(b, next, 0), b.w(il, "altup_correct_scale.weight"));
  first = per_layer_part(b, il, first, parts);
  Tensor* kept = slice(b, next, 0);
  return b.g.concat(kept, b.g.add(rest_of_streams(b, next), first), 2);
}

/// The streams, brought back and averaged.
Tensor* merged(GraphBuilder& b, Tensor* x) {
  Tensor* length = magnitude(b, slice(b, x, 0));
  Tensor* others = b.mm(b.w("altup_unembd_proj.weight"), rest_of_streams(b, x));
  others = at_length(b, others, length);
  Tensor* y = slice(b, x, 0);
  for (std::int64_t i = 0; i < kStreams - 1; ++i) y = b.g.add(y, slice(b, others, i));
  return b.g.scale(y);
}

void build(GraphBuilder& b) {
  Tensor* x = b.g.scale(b.input_embeddings());
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* parts = per_layer_inputs(b, x);
  Tensor* length = magnitude(b, x);
  Tensor* copies = b.g.repeat(x, {b.hp.n_embd, b.n_tokens, kStreams - 1, 1});
  x = b.g.concat(x, at_length(b, b.mm(b.w("altup_proj.weight"), copies), length), 2);
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) x = layer(b, in, il, x, positions, parts);
  b.head(b.g.get_rows(merged(b, x), b.input_output_rows()));
}

}  // namespace
}  // namespace gemma3n

const Architecture kGemma3n{"gemma3n", gemma3n::read, gemma3n::list, gemma3n::build};

}  // namespace memtape::llamacpp::arch
