// SPDX-License-Identifier: Apache-2.0
// smallthinker: the router sees the layer's input, before attention; layers without a window, the
// first of four, do not rotate.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace smallthinker {
namespace {

constexpr std::int64_t kFullLayerEvery = 4, kWindow = 4096;

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = keys.count("attention.sliding_window", 0) > 0;
  if (hp.swa) {
    hp.n_swa = kWindow;
    hp.read_swa_pattern(keys, kFullLayerEvery, true);
    hp.no_rope_step = kFullLayerEvery;
  }
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.gating = keys.count("expert_gating_func", 1) == 2 ? Gating::sigmoid : Gating::softmax;
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
  if (hp.n_ff_exp() == 0) keys.fail("expert_feed_forward_length", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff_exp());
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* scores = b.mm(b.w(il, "ffn_gate_inp.weight"), x);
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (hp.no_rope_step == 0 || il % hp.no_rope_step != 0) {
      qkv.q = b.rope(qkv.q, positions);
      qkv.k = b.rope(qkv.k, positions);
    }
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il))
      for (Tensor** of : {&y, &x, &scores}) *of = b.g.get_rows(*of, rows);
    Tensor* middle = b.g.add(y, x);
    y = b.moe(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il),
              {.n_expert = hp.n_expert,
               .n_used = hp.n_expert_used,
               .activation = Activation::relu,
               .normalize = true,
               .gating = hp.gating,
               .logits = scores});
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace
}  // namespace smallthinker

const Architecture kSmallThinker{"smallthinker", smallthinker::read, smallthinker::list,
                                 smallthinker::build};

}  // namespace memtape::llamacpp::arch
