// SPDX-License-Identifier: Apache-2.0
// minicpm3: latent attention as DeepSeek's before absorption, the heads' K and V in the cache, and
// scaled embeddings, residuals and logits.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace minicpm3 {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_lora_q = keys.dimension("attention.q_lora_rank");
  hp.n_lora_kv = keys.dimension("attention.kv_lora_rank");
  hp.embedding_scale = hp.residual_scale = 1;  // constants of the graph
  if (hp.head_k <= hp.n_rot)
    keys.fail("rope.dimension_count", "leaves nothing of a head unrotated");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t heads = hp.n_head(), nope = hp.head_k - hp.n_rot;
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_q_a_norm.weight", {hp.n_lora_q});
    weights.add(il, "attn_kv_a_norm.weight", {hp.n_lora_kv});
    weights.add(il, "attn_q_a.weight", {hp.n_embd, hp.n_lora_q});
    weights.add(il, "attn_q_b.weight", {hp.n_lora_q, heads * hp.head_k});
    weights.add(il, "attn_kv_a_mqa.weight", {hp.n_embd, hp.n_lora_kv + hp.n_rot});
    weights.add(il, "attn_kv_b.weight", {hp.n_lora_kv, heads * (nope + hp.head_v)});
    weights.add(il, "attn_output.weight", {heads * hp.head_v, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
    weights.rope_factors(hp, il);
  }
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = hp.head_k - hp.n_rot, heads = hp.n_head();
  Tensor* factors = b.rope_factors(il);
  Tensor* q = b.rms(b.mm(b.w(il, "attn_q_a.weight"), x), b.w(il, "attn_q_a_norm.weight"), il);
  q = b.g.reshape(b.mm(b.w(il, "attn_q_b.weight"), q), {hp.head_k, heads, b.n_tokens, 1});
  Tensor* both = b.mm(b.w(il, "attn_kv_a_mqa.weight"), x);
  Tensor* kv = b.g.view_2d(both, {hp.n_lora_kv, b.n_tokens, 1, 1}, both->nb[1], 0);
  Tensor* shared = b.g.view_3d(both, {hp.n_rot, 1, b.n_tokens, 1}, both->nb[1], both->nb[1],
                               ggml::row_size(both->type, hp.n_lora_kv));
  kv = b.mm(b.w(il, "attn_kv_b.weight"), b.rms(kv, b.w(il, "attn_kv_a_norm.weight"), il));
  const Bytes row = ggml::row_size(kv->type, nope + hp.head_v);
  Tensor* k = b.g.view_3d(kv, {nope, heads, b.n_tokens, 1}, row, row * heads, 0);
  Tensor* v = b.g.view_3d(kv, {hp.head_v, heads, b.n_tokens, 1}, row, row * heads,
                          ggml::row_size(kv->type, nope));
  Qkv qkv{};
  qkv.v = b.g.cont(v);
  qkv.q = b.rope(q, positions, factors);
  shared = b.g.repeat(b.rope(shared, positions, factors), {hp.n_rot, heads, b.n_tokens, 1});
  qkv.k = b.g.concat(k, shared, 0);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), positions);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    Tensor* middle = b.g.add(b.g.scale(y), x);
    y = b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {});
    x = b.g.add(b.g.scale(y), middle);
  }
  x = b.rms(x, b.w("output_norm.weight"), -1);
  b.set_output(x);
  b.finish(b.logits(b.g.scale(x)));
}

}  // namespace
}  // namespace minicpm3

const Architecture kMiniCpm3{"minicpm3", minicpm3::read, minicpm3::list, minicpm3::build};

}  // namespace memtape::llamacpp::arch
