// SPDX-License-Identifier: Apache-2.0
// afmoe: Arcee's Trinity: norms before and after each part, a gate on what attention gives, three
// layers with a window to one without, dense layers first, then routed and shared experts.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace afmoe {
namespace {

constexpr std::int64_t kFullEvery = 4;       ///< global_attn_every_n_layers
constexpr std::int64_t kUnrotatedEvery = 4;  ///< n_no_rope_layer_step of llama-hparams.h

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_ff_shexp = hp.n_ff_exp() * keys.dimension("expert_shared_count");
  hp.gating = keys.count("expert_gating_func", 2) == 1 ? Gating::softmax : Gating::sigmoid;
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = true;
  hp.read_swa_pattern(keys, kFullEvery);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "post_attention_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {hp.head_k});
    weights.add(il, "attn_k_norm.weight", {hp.head_k});
    weights.add(il, "attn_gate.weight", {hp.n_embd, q});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
    if (!hp.has_experts(il)) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.add(il, "exp_probs_b.bias", {hp.n_expert});
    weights.experts(il, hp, hp.n_ff_exp());
    weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
  }
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  Tensor* gate = b.mm(b.w(il, "attn_gate.weight"), x);
  qkv.q = b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il);
  qkv.k = b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il);
  if ((il + 1) % kUnrotatedEvery != 0) {
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
  }
  Tensor* y = b.attention(in, il, qkv, nullptr);
  y = b.g.mul(y, b.g.unary(ggml::Unary::sigmoid, gate));
  return b.mm(b.w(il, "attn_output.weight"), y);
}

void build(GraphBuilder& b) {
  Tensor* x = b.g.scale(b.input_embeddings());
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), positions);
    y = b.rms(y, b.w(il, "post_attention_norm.weight"), il);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    Tensor* middle = b.g.add(y, x);
    y = dense_or_experts(b, il, b.rms(middle, b.w(il, "ffn_norm.weight"), il));
    x = b.g.add(b.rms(y, b.w(il, "post_ffw_norm.weight"), il), middle);
  }
  b.head(x);
}

}  // namespace
}  // namespace afmoe

const Architecture kAfMoe{"afmoe", afmoe::read, afmoe::list, afmoe::build};

}  // namespace memtape::llamacpp::arch
