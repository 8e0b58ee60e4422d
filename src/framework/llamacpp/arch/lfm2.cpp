// SPDX-License-Identifier: Apache-2.0
// lfm2 and lfm2moe: gated short convolutions with a few attention layers among them.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace lfm2 {
namespace {

constexpr Bytes kFloat = 4;

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_shortconv = keys.dimension("shortconv.l_cache");
  if (hp.n_shortconv < 2) keys.fail("shortconv.l_cache", "must be 2 or more");
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    hp.recurrent[static_cast<std::size_t>(il)] = hp.n_head_kv(il) == 0;
  hp.usually_tied = true;
}

void read_dense(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.n_layer_dense_lead = hp.n_layer();
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  for (std::size_t il = 0; il < hp.swa_layer.size(); ++il)
    hp.swa_layer[il] = hp.swa && !hp.recurrent[il];
}

void read_moe(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  const std::int64_t gating = keys.count("expert_gating_func", 0);
  if (gating < 1 || gating > 2) keys.fail("expert_gating_func", "must be 1 or 2");
  hp.gating = gating == 2 ? Gating::sigmoid : Gating::softmax;
  hp.expert_weights_norm = true;
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list_mixer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  if (hp.is_recurrent(il)) {
    weights.add(il, "shortconv.conv.weight", {hp.n_shortconv, hp.n_embd});
    weights.add(il, "shortconv.in_proj.weight", {hp.n_embd, 3 * hp.n_embd});
    weights.add(il, "shortconv.out_proj.weight", {hp.n_embd, hp.n_embd});
    return;
  }
  weights.add(il, "attn_q_norm.weight", {hp.head_k});
  weights.add(il, "attn_k_norm.weight", {hp.head_k});
  weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(il), hp.v_gqa(il)});
  weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.add(-1, "token_embd_norm.weight", {hp.n_embd});  // the last norm, by a wrong name
  weights.output_matrix(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    list_mixer(hp, il, weights);
    if (!hp.has_experts(il)) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.experts(il, hp, hp.n_ff_exp(il));
    weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  }
}

Tensor* attended(GraphBuilder& b, std::int64_t il, Tensor* x, const AttentionInputs& in,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(), hp.n_head_kv(il)});
  qkv.q = b.rope(b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il), positions);
  qkv.k = b.rope(b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il), positions);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

Tensor* convolved(GraphBuilder& b, std::int64_t il, Tensor* x, const RecurrentInputs& in) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const std::int64_t width = hp.n_embd, kept = hp.n_shortconv - 1;
  x = g.reshape(x, {width, b.n_seq_tokens, b.n_seqs, 1});
  Tensor* all = b.mm(b.w(il, "shortconv.in_proj.weight"), x);
  const auto third = [&](std::int64_t i) {
    return g.view_3d(all, {width, all->ne[1], all->ne[2], 1}, all->nb[1], all->nb[2],
                     i * width * kFloat);
  };
  Tensor *before = third(0), *after = third(1);
  Tensor* gated = g.transpose(g.mul(before, third(2)));
  Tensor* states = b.r_of(il);
  Tensor* history = g.reshape(b.states_of(in, states, hp.n_embd_r()), {kept, width, b.n_seqs, 1});
  Tensor* joined = g.concat(history, gated, 0);
  Tensor* last = g.view_3d(joined, {kept, width, b.n_seqs, 1}, joined->nb[1], joined->nb[2],
                           (joined->ne[0] - kept) * kFloat);
  g.expand(g.cpy(last, g.view_2d(states, {kept * width, b.n_seqs, 1, 1}, states->nb[1], 0)));
  Tensor* y = g.mul(after, g.ssm_conv(joined, b.w(il, "shortconv.conv.weight")));
  y = b.mm(b.w(il, "shortconv.out_proj.weight"), y);
  return g.reshape(y, {y->ne[0], b.n_seq_tokens * b.n_seqs, 1, 1});
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  const RecurrentInputs states = b.input_recurrent();
  const AttentionInputs in = b.input_attention();
  Tensor* positions = b.input_positions();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = hp.is_recurrent(il) ? convolved(b, il, y, states) : attended(b, il, y, in, positions);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(residual, y);
    y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
    y = hp.has_experts(il) ? experts_and_shared(b, il, y, Activation::silu) : b.ffn(il, y, {});
    x = b.g.add(middle, y);
  }
  x = b.rms(x, b.w("token_embd_norm.weight"), -1);
  b.set_output(x);
  b.finish(b.logits(x));
}

}  // namespace
}  // namespace lfm2

const Architecture kLfm2{"lfm2", lfm2::read_dense, lfm2::list, lfm2::build};
const Architecture kLfm2Moe{"lfm2moe", lfm2::read_moe, lfm2::list, lfm2::build};

}  // namespace memtape::llamacpp::arch
