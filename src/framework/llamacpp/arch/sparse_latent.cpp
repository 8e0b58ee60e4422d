// SPDX-License-Identifier: Apache-2.0
// deepseek32 and glm-dsa: DeepSeek V3.2, GLM 5: latent attention to the cells that an indexer,
// small attention with keys of its own, scores highest; GLM 5.2's layers take turns at choosing.
#include <algorithm>

#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace sparse_latent {
namespace {

constexpr std::int64_t kContextOf52 = 1 << 20;  ///< from GLM 5.2 on layers share their choice
constexpr std::int64_t kFirstToChoose = 3, kChoosesEvery = 4;

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_lora_q = keys.dimension("attention.q_lora_rank");
  hp.n_lora_kv = keys.dimension("attention.kv_lora_rank");
  hp.head_k_mla = keys.dimension("attention.key_length_mla");
  hp.head_v_mla = keys.dimension("attention.value_length_mla");
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_expert_shared = keys.dimension("expert_shared_count");
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  hp.gating = keys.count("expert_gating_func", 2) == 1 ? Gating::softmax : Gating::sigmoid;
  hp.indexer_heads = keys.dimension("attention.indexer.head_count");
  hp.indexer_head = keys.dimension("attention.indexer.key_length");
  hp.indexer_top_k = keys.dimension("attention.indexer.top_k");
  hp.indexes.assign(static_cast<std::size_t>(hp.n_layer_all), true);
  if (hp.head_k_mla <= hp.n_rot)
    keys.fail("rope.dimension_count", "leaves nothing of a head unrotated");
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read_glm(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  const auto types = keys.array("attention.indexer.types");
  for (std::size_t il = 0; il < hp.indexes.size(); ++il) {
    const auto at = static_cast<std::int64_t>(il);
    if (!types.empty())
      hp.indexes[il] = il < types.size() && types[il] != 0;
    else if (hp.n_ctx_train >= kContextOf52)
      hp.indexes[il] = at < kFirstToChoose || at % kChoosesEvery == 2;
  }
  if (!hp.indexes.front()) keys.fail("attention.indexer.types", "leaves the first layer no choice");
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t nope = hp.head_k_mla - hp.n_rot, heads = hp.n_head();
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.add(il, "attn_q_a_norm.weight", {hp.n_lora_q});
  weights.add(il, "attn_kv_a_norm.weight", {hp.n_lora_kv});
  weights.add(il, "attn_q_a.weight", {hp.n_embd, hp.n_lora_q});
  weights.add(il, "attn_q_b.weight", {hp.n_lora_q, heads * hp.head_k_mla});
  weights.add(il, "attn_kv_a_mqa.weight", {hp.n_embd, hp.n_lora_kv + hp.n_rot});
  weights.add(il, "attn_k_b.weight", {nope, hp.n_lora_kv, heads});
  weights.add(il, "attn_v_b.weight", {hp.n_lora_kv, hp.head_v_mla, heads});
  weights.add(il, "attn_output.weight", {heads * hp.head_v_mla, hp.n_embd});
  weights.add(il, "ffn_norm.weight", {hp.n_embd});
  if (hp.indexes[static_cast<std::size_t>(il)]) {
    weights.add(il, "indexer.k_norm.weight", {hp.indexer_head});
    weights.add(il, "indexer.k_norm.bias", {hp.indexer_head});
    weights.add(il, "indexer.proj.weight", {hp.n_embd, hp.indexer_heads});
    weights.add(il, "indexer.attn_k.weight", {hp.n_embd, hp.indexer_head});
    weights.add(il, "indexer.attn_q_b.weight", {hp.n_lora_q, hp.indexer_heads * hp.indexer_head});
  }
  if (il < hp.n_layer_dense_lead) return weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  weights.maybe(il, "exp_probs_b.bias", {hp.n_expert}, true);
  weights.experts(il, hp, hp.n_ff_exp(il));
  weights.gated_ffn(il, hp.n_embd, hp.n_ff_exp(il) * hp.n_expert_shared, "_shexp");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.layers_and_drafts(hp, list_layer);
}

struct Inputs {
  Tensor* positions;
  AttentionInputs attention;
  CacheInputs indexer;
  bool fused;
};

/// Of the heads' scores, weighed: one op, or many where the device has it not.
Tensor* scores_of(GraphBuilder& b, Tensor* q, Tensor* k, Tensor* weights, const Inputs& in) {
  ggml::Graph& g = b.g;
  if (in.fused) return g.lightning_indexer(q, k, weights, in.indexer.mask);
  Tensor* y = g.mul_mat(g.permute(k, {0, 2, 1, 3}), g.permute(q, {0, 2, 1, 3}));
  y = g.unary(ggml::Unary::relu, g.cont(g.permute(y, {2, 1, 0, 3})));
  y = g.sum_rows(g.mul(y, weights));
  return g.add(g.cont(g.permute(y, {2, 1, 0, 3})), in.indexer.mask);
}

/// The cells that each token looks at. `low` is the compressed query.
Tensor* chosen_cells(GraphBuilder& b, const Inputs& in, std::int64_t il, Tensor* x, Tensor* low) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  Tensor* q = b.mm(b.w(il, "indexer.attn_q_b.weight"), low);
  q = b.rope(g.reshape(q, {hp.indexer_head, hp.indexer_heads, b.n_tokens, 1}), in.positions);
  Tensor* k = b.norm(b.mm(b.w(il, "indexer.attn_k.weight"), x), b.w(il, "indexer.k_norm.weight"),
                     b.w(il, "indexer.k_norm.bias"), Norm::layer, il);
  k = b.rope(g.reshape(k, {hp.indexer_head, 1, b.n_tokens, 1}), in.positions);
  q = g.mul_mat(in.indexer.k_rotation, q);
  k = b.indexer_keys(in.indexer, il, g.mul_mat(in.indexer.k_rotation, k));
  Tensor* weights = b.mm(b.w(il, "indexer.proj.weight"), x);
  const std::int64_t streams = k->ne[3];
  q = g.view(q, {.ne = {q->ne[0], q->ne[1], q->ne[2] / streams, streams},
                 .nb1 = q->nb[1],
                 .nb2 = q->nb[2],
                 .nb3 = q->nb[3] / streams});
  weights =
      g.view(weights, {.ne = {weights->ne[0], weights->ne[1] / streams, weights->ne[2], streams},
                       .nb1 = weights->nb[1],
                       .nb2 = weights->nb[2] / streams,
                       .nb3 = weights->nb[3] / streams});
  Tensor* scores = scores_of(b, q, k, g.scale(weights), in);
  return g.cont(g.top_k(scores, std::min(scores->ne[0], hp.indexer_top_k)));
}

Tensor* attended(GraphBuilder& b, const Inputs& in, std::int64_t il, Tensor* x, Tensor*& chosen) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = hp.head_k_mla - hp.n_rot, heads = hp.n_head();
  Tensor* low = b.rms(b.mm(b.w(il, "attn_q_a.weight"), x), b.w(il, "attn_q_a_norm.weight"), il);
  if (hp.indexes[static_cast<std::size_t>(il)]) chosen = chosen_cells(b, in, il, x, low);
  Tensor* q = b.mm(b.w(il, "attn_q_b.weight"), low);
  const Bytes row = ggml::row_size(q->type, hp.head_k_mla);
  const auto part = [&](std::int64_t width, std::int64_t from) {
    return g.view_3d(q, {width, heads, b.n_tokens, 1}, row, row * heads,
                     ggml::row_size(q->type, from));
  };
  Tensor* both = b.mm(b.w(il, "attn_kv_a_mqa.weight"), x);
  Tensor* kv = g.view_2d(both, {hp.n_lora_kv, b.n_tokens, 1, 1}, both->nb[1], 0);
  Tensor* shared = g.view_3d(both, {hp.n_rot, 1, b.n_tokens, 1}, both->nb[1], both->nb[1],
                             ggml::row_size(both->type, hp.n_lora_kv));
  Tensor* turned = b.rope(part(hp.n_rot, nope), in.positions);
  shared = b.rope(shared, in.positions);
  kv = b.rms(kv, b.w(il, "attn_kv_a_norm.weight"), il);
  Tensor* plain = b.mm(b.w(il, "attn_k_b.weight"), g.permute(part(nope, 0), {0, 2, 1, 3}));
  Qkv qkv{};
  qkv.q = g.concat(g.permute(plain, {0, 2, 1, 3}), turned, 0);
  qkv.v = g.reshape(kv, {hp.n_lora_kv, 1, b.n_tokens, 1});
  qkv.k = g.concat(qkv.v, shared, 0);
  return b.attention_k(in.attention, il, qkv, b.w(il, "attn_output.weight"),
                       {.v_mla = b.w(il, "attn_v_b.weight"), .chosen = chosen});
}

/// The op is taken for all layers or for none.
bool all_fuse(const GraphBuilder& b) {
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il)
    if (!b.fuses_indexer(il)) return false;
  return true;
}

void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  const bool fused = all_fuse(b);
  Tensor* positions = b.input_positions();
  const AttentionInputs attention = b.input_attention_k();
  const Inputs in{positions, attention, b.input_indexer(fused), fused};
  Tensor* rows = b.input_output_rows();
  Tensor* chosen = nullptr;
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), chosen);
    x = finish_layer(b, il, y, x, rows, dense_or_experts);
  }
  b.head(x);
}

}  // namespace
}  // namespace sparse_latent

const Architecture kDeepseek32{"deepseek32", sparse_latent::read, sparse_latent::list,
                               sparse_latent::build};
const Architecture kGlmDsa{"glm-dsa", sparse_latent::read_glm, sparse_latent::list,
                           sparse_latent::build};

}  // namespace memtape::llamacpp::arch
