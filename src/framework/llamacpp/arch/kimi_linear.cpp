// SPDX-License-Identifier: Apache-2.0
// kimi-linear: delta attention with a decay for each channel (KDA), every fourth layer latent
// attention without rotation; dense layers first, then routed and shared experts.
#include <fmt/format.h>

#include "framework/llamacpp/arch/delta_net.h"
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace kimi_linear {
namespace {

using ggml::Unary;

constexpr Bytes kFloat = 4;

struct Inputs {
  RecurrentInputs states;
  AttentionInputs attention;
};

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.head_k_mla = keys.dimension("attention.key_length_mla");
  hp.head_v_mla = keys.dimension("attention.value_length_mla");
  hp.n_lora_kv = keys.dimension("attention.kv_lora_rank");
  hp.ssm_conv = keys.dimension("ssm.conv_kernel");
  hp.kda_head = keys.dimension("kda.head_dim");
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    hp.recurrent[static_cast<std::size_t>(il)] = hp.n_head_kv(il) == 0;
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_expert_shared = keys.dimension("expert_shared_count");
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = true;
  hp.gating = keys.dimension("expert_gating_func") == 2 ? Gating::sigmoid : Gating::softmax;
  if (hp.head_k_mla <= hp.n_rot)
    keys.fail("rope.dimension_count", "leaves nothing of a head unrotated");
}

void list_kda(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t head = hp.kda_head, all = head * hp.n_head();
  for (const char* of : {"q", "k", "v"})
    weights.add(il, fmt::format("ssm_conv1d_{}.weight", of), {hp.ssm_conv, 1, all});
  weights.qkv(il, hp.n_embd, {all, all, all});
  weights.add(il, "ssm_f_a.weight", {hp.n_embd, head});
  weights.add(il, "ssm_f_b.weight", {head, all});
  weights.add(il, "ssm_beta.weight", {hp.n_embd, hp.n_head()});
  weights.add(il, "ssm_a", {1, hp.n_head()});
  weights.add(il, "ssm_dt.bias", {all});
  weights.add(il, "ssm_g_a.weight", {hp.n_embd, head});
  weights.add(il, "ssm_g_b.weight", {head, all});
  weights.add(il, "ssm_norm.weight", {head});
  weights.add(il, "attn_output.weight", {all, hp.n_embd});
}

void list_latent(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t nope = hp.head_k_mla - hp.n_rot, heads = hp.n_head();
  weights.add(il, "attn_kv_a_norm.weight", {hp.n_lora_kv});
  weights.add(il, "attn_q.weight", {hp.n_embd, heads * hp.head_k_mla});
  weights.add(il, "attn_kv_a_mqa.weight", {hp.n_embd, hp.n_lora_kv + hp.n_rot});
  weights.add(il, "attn_k_b.weight", {nope, hp.n_lora_kv, heads});
  weights.add(il, "attn_v_b.weight", {hp.n_lora_kv, hp.head_v_mla, heads});
  weights.add(il, "attn_output.weight", {heads * hp.head_v_mla, hp.n_embd});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.is_recurrent(il))
      list_kda(hp, il, weights);
    else
      list_latent(hp, il, weights);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    if (il < hp.n_layer_dense_lead) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.experts(il, hp, hp.n_ff_exp(il));
    weights.gated_ffn(il, hp.n_embd, hp.n_ff_exp(il) * hp.n_expert_shared, "_shexp");
    weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  }
}

/// One of Q, K and V, over the last tokens; what is kept of them goes back to the cache.
Tensor* convolved(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* history,
                  std::int64_t which) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::string_view of = std::string_view("qkv").substr(static_cast<std::size_t>(which), 1);
  const std::int64_t kept = hp.ssm_conv - 1, all = hp.kda_head * hp.n_head();
  const ggml::Extents window{kept, all, b.n_seqs, 1};
  const Bytes row = hp.n_embd_r() * kFloat, from = which * kept * all * kFloat;
  Tensor* before = g.view_3d(history, window, kept * kFloat, row, from);
  Tensor* now = b.mm(b.w(il, fmt::format("attn_{}.weight", of)), x);
  now = g.reshape(now, {all, b.n_seq_tokens, b.n_seqs, 1});
  Tensor* joined = g.concat(before, g.transpose(now), 0);
  Tensor* last =
      g.view_3d(joined, window, joined->nb[1], joined->nb[2], b.n_seq_tokens * joined->nb[0]);
  g.expand(g.cpy(last, g.view_3d(b.r_of(il), window, kept * kFloat, row, from)));
  Tensor* kernel = b.w(il, fmt::format("ssm_conv1d_{}.weight", of));
  Tensor* y = g.ssm_conv(joined, g.reshape(kernel, {hp.ssm_conv, all, 1, 1}));
  y = g.unary(Unary::silu, g.reshape(y, {all, b.n_tokens, 1, 1}));
  return g.reshape(y, {hp.kda_head, hp.n_head(), b.n_seq_tokens, b.n_seqs});
}

Tensor* decay_of(GraphBuilder& b, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const std::int64_t head = b.hp.kda_head, heads = b.hp.n_head();
  Tensor* y = b.mm(b.w(il, "ssm_f_b.weight"), b.mm(b.w(il, "ssm_f_a.weight"), x));
  y = g.unary(Unary::softplus, g.add(y, b.w(il, "ssm_dt.bias")));
  y = g.reshape(y, {head, heads, b.n_tokens, 1});
  y = g.mul(y, g.reshape(b.w(il, "ssm_a"), {1, heads, 1, 1}));
  return g.reshape(y, {head, heads, b.n_seq_tokens, b.n_seqs});
}

Tensor* kda_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t head = hp.kda_head, heads = hp.n_head();
  Tensor* history = b.states_of(in, b.r_of(il), hp.n_embd_r());
  ggml::Graph::DeltaNet net{};
  net.q = convolved(b, il, x, history, 0);
  net.k = convolved(b, il, x, history, 1);
  net.v = convolved(b, il, x, history, 2);
  net.gate = decay_of(b, il, x);
  Tensor* beta = b.mm(b.w(il, "ssm_beta.weight"), x);
  net.beta = g.unary(Unary::sigmoid, g.reshape(beta, {1, heads, b.n_seq_tokens, b.n_seqs}));
  Tensor* state = b.states_of(in, b.s_of(il), hp.n_embd_s());
  net.state = g.reshape(state, {head, head, heads, b.n_seqs});
  net.q = g.scale(g.rms_norm(net.q));  // to length one
  net.k = g.scale(g.rms_norm(net.k));
  Tensor* y = g.reshape(g.cont(delta_net(b, il, net)), {head, heads, b.n_tokens, 1});
  Tensor* gate = b.mm(b.w(il, "ssm_g_b.weight"), b.mm(b.w(il, "ssm_g_a.weight"), x));
  gate = g.unary(Unary::sigmoid, g.reshape(gate, {head, heads, b.n_tokens, 1}));
  y = g.mul(b.rms(y, b.w(il, "ssm_norm.weight"), il), gate);
  return b.mm(b.w(il, "attn_output.weight"), g.cont(y, {head * heads, b.n_tokens, 1, 1}));
}

Tensor* latent_layer(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = hp.head_k_mla - hp.n_rot, heads = hp.n_head();
  Tensor* q = b.mm(b.w(il, "attn_q.weight"), x);
  Tensor* both = b.mm(b.w(il, "attn_kv_a_mqa.weight"), x);
  Tensor* kv = g.view_2d(both, {hp.n_lora_kv, b.n_tokens, 1, 1}, both->nb[1], 0);
  Tensor* shared = g.view_3d(both, {hp.n_rot, 1, b.n_tokens, 1}, both->nb[1], both->nb[1],
                             hp.n_lora_kv * kFloat);
  kv = b.rms(kv, b.w(il, "attn_kv_a_norm.weight"), il);
  const Bytes row = hp.head_k_mla * kFloat;
  const auto part = [&](std::int64_t width, Bytes from) {
    return g.view_3d(q, {width, heads, b.n_tokens, 1}, row, row * heads, from);
  };
  Tensor* plain = g.permute(part(nope, 0), {0, 2, 1, 3});
  plain = g.permute(b.mm(b.w(il, "attn_k_b.weight"), plain), {0, 2, 1, 3});
  Qkv qkv{};
  qkv.q = g.concat(plain, part(hp.n_rot, nope * kFloat), 0);
  qkv.v = g.reshape(kv, {hp.n_lora_kv, 1, b.n_tokens, 1});
  qkv.k = g.concat(qkv.v, shared, 0);
  return b.attention_k(in, il, qkv, b.w(il, "attn_output.weight"),
                       {.v_mla = b.w(il, "attn_v_b.weight")});
}

void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  const RecurrentInputs states = b.input_recurrent();
  const Inputs in{states, b.input_attention_k()};
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    b.g.expand(y);
    y = b.hp.is_recurrent(il) ? kda_layer(b, in.states, il, y)
                              : latent_layer(b, in.attention, il, y);
    x = finish_layer(b, il, y, x, rows, dense_or_experts);
  }
  b.head(x);
}

}  // namespace
}  // namespace kimi_linear

const Architecture kKimiLinear{"kimi-linear", kimi_linear::read, kimi_linear::list,
                               kimi_linear::build};

}  // namespace memtape::llamacpp::arch
