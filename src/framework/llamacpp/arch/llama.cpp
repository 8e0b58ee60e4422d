// SPDX-License-Identifier: Apache-2.0
// llama, internlm2: Llama 1 to 3, Mistral, Mixtral and what is converted to them. smollm3: the
// same, every fourth layer without rotation.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.is_70b = hp.n_expert != 8 && hp.n_layer() == 80 && hp.n_head() != hp.n_head_kv();
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
}

void read_smollm3(Hyperparameters& hp, KeyReader&) {
  hp.no_rope_step = 4;
  hp.usually_tied = true;  // as the 3B is
}

void read_internlm2(Hyperparameters&, KeyReader&) {}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    weights.maybe(il, "attn_output.bias", {hp.n_embd}, false);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.rope_factors(hp, il);
    if (hp.n_expert > 0) {
      weights.experts(il, hp, hp.n_ff());
      continue;
    }
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
    weights.maybe(il, "ffn_gate.bias", {hp.n_ff()}, false);
    weights.maybe(il, "ffn_down.bias", {hp.n_embd}, false);
    weights.maybe(il, "ffn_up.bias", {hp.n_ff()}, false);
  }
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (!b.w(il, "ffn_gate_inp.weight")) return b.ffn(il, x, {});
  return b.moe(il, x,
               {.n_expert = hp.n_expert,
                .n_used = hp.n_expert_used,
                .normalize = true,
                .scale = hp.expert_weights_scale});
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
    const bool rotates = hp.no_rope_step == 0 || (il + 1) % hp.no_rope_step != 0;
    Tensor* factors = rotates ? b.rope_factors(il) : nullptr;
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (rotates) {
      qkv.q = b.rope(qkv.q, positions, factors);
      qkv.k = b.rope(qkv.k, positions, factors);
    }
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                    {.wo_bias = b.w(il, "attn_output.bias")});
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
    x = b.g.add(feed_forward(b, il, y), middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kInternLm2{"internlm2", read_internlm2, list, build};
const Architecture kLlama{"llama", read, list, build};
const Architecture kSmolLm3{"smollm3", read_smollm3, list, build};

}  // namespace memtape::llamacpp::arch
