// SPDX-License-Identifier: Apache-2.0
// gpt-oss: experts with biases, attention sinks, every other layer with a window.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace gpt_oss {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = true;
  hp.read_swa_pattern(keys, 2);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.n_head() * hp.n_rot, kv = hp.n_head_kv() * hp.n_rot;
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "post_attention_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {q, kv, kv}, true);
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_sinks.weight", {hp.n_head()});
    weights.experts(il, hp, hp.n_ff_exp());
    weights.add(il, "attn_output.bias", {hp.n_embd});
    weights.add(il, "ffn_gate_inp.bias", {hp.n_expert});
    weights.add(il, "ffn_gate_exps.bias", {hp.n_ff_exp(), hp.n_expert});
    weights.add(il, "ffn_down_exps.bias", {hp.n_embd, hp.n_expert});
    weights.add(il, "ffn_up_exps.bias", {hp.n_ff_exp(), hp.n_expert});
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.n_rot, hp.n_head(), hp.n_head_kv()});
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    y = b.attention(
        in, il, qkv, b.w(il, "attn_output.weight"),
        {.wo_bias = b.w(il, "attn_output.bias"), .sinks = b.w(il, "attn_sinks.weight")});
    Tensor* middle = b.g.add(y, residual);
    y = b.rms(middle, b.w(il, "post_attention_norm.weight"), il);
    y = b.moe(il, y,
              {.n_expert = hp.n_expert,
               .n_used = hp.n_expert_used,
               .activation = Activation::swiglu_oai,
               .gating = Gating::softmax_weight});
    x = b.g.add(y, middle);
  }
  b.set_output(x);  // read by draft heads
  b.head(b.g.get_rows(x, rows));
}

}  // namespace
}  // namespace gpt_oss

const Architecture kGptOss{"gpt-oss", gpt_oss::read, gpt_oss::list, gpt_oss::build};

}  // namespace memtape::llamacpp::arch
