// SPDX-License-Identifier: Apache-2.0
// gemma, gemma2, gemma3 and gemma-embedding: embeddings that are the output matrix, too; the latter
// two have norms before and after each part, and every other (sixth) layer without a window.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace gemma2 {
namespace {

void read_gemma(Hyperparameters&, KeyReader&) {}

void read_gemma2(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = true;
  hp.n_swa = keys.count("attention.sliding_window", 4096);
  hp.read_swa_pattern(keys, 2);
  hp.attn_soft_cap = true;
  hp.final_logit_softcapping = keys.number("final_logit_softcapping", 30);
}

void read_gemma3(Hyperparameters& hp, KeyReader& keys) {
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, 6);
  hp.final_logit_softcapping = keys.number("final_logit_softcapping", 0);
}

void read_embedding(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = hp.no_cache = hp.embeds = true;
  hp.causal = false;
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.read_swa_pattern(keys, 6);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const bool third = hp.arch == "gemma3" || hp.embeds, first = hp.arch == "gemma";
  weights.token_embeddings(hp);
  weights.output(hp, !third || !weights.is_stored(-1, "output.weight"));
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    if (!first) weights.add(il, "post_attention_norm.weight", {hp.n_embd});
    if (third) {
      weights.add(il, "attn_k_norm.weight", {hp.head_k});
      weights.add(il, "attn_q_norm.weight", {hp.head_k});
    }
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
    if (!first) weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  const bool first = hp.arch == "gemma";
  Tensor* x = b.g.scale(b.input_embeddings());
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_k, hp.n_head(), hp.n_head_kv()});
    if (Tensor* weight = b.w(il, "attn_q_norm.weight")) qkv.q = b.rms(qkv.q, weight, il);
    if (Tensor* weight = b.w(il, "attn_k_norm.weight")) qkv.k = b.rms(qkv.k, weight, il);
    qkv.q = b.rope(qkv.q, positions);
    if (!first) qkv.q = b.g.scale(qkv.q);
    qkv.k = b.rope(qkv.k, positions);
    if (first) qkv.q = b.g.scale(qkv.q);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    if (!first) y = b.rms(y, b.w(il, "post_attention_norm.weight"), il);
    Tensor* middle = b.g.add(y, x);
    y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
    y = b.ffn(il, y, {.activation = Activation::gelu});
    if (!first) y = b.rms(y, b.w(il, "post_ffw_norm.weight"), -1);
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace
}  // namespace gemma2

const Architecture kGemma{"gemma", gemma2::read_gemma, gemma2::list, gemma2::build};
const Architecture kGemmaEmbedding{"gemma-embedding", gemma2::read_embedding, gemma2::list,
                                   gemma2::build};
const Architecture kGemma2{"gemma2", gemma2::read_gemma2, gemma2::list, gemma2::build};
const Architecture kGemma3{"gemma3", gemma2::read_gemma3, gemma2::list, gemma2::build};

}  // namespace memtape::llamacpp::arch
