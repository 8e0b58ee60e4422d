// SPDX-License-Identifier: Apache-2.0
// qwen3next, qwen35 and qwen35moe: Qwen3-Next and Qwen3.5: three layers of gated delta nets, then
// one with gated attention.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/delta_net.h"

namespace memtape::llamacpp::arch {
namespace qwen35 {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  read_delta_net(hp, keys);
  hp.mrope = true;
}

void read_moe(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read_next(Hyperparameters& hp, KeyReader& keys) {
  read_moe(hp, keys);
  hp.mrope = false;
}

void list_feed_forward(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  if (hp.n_expert == 0) return weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  weights.experts(il, hp, hp.n_ff_exp() > 0 ? hp.n_ff_exp() : hp.n_ff() / hp.n_expert_used);
  weights.add(il, "ffn_gate_inp_shexp.weight", {hp.n_embd});
  weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp > 0 ? hp.n_ff_shexp : hp.n_ff(), "_shexp");
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  if (hp.is_recurrent(il))
    list_delta_net(hp, il, weights);
  else
    list_gated_attention(hp, il, weights);
  list_feed_forward(hp, il, weights);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.layers_and_drafts(hp, list_layer, false);
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (hp.n_expert == 0) return b.ffn(il, x, {});
  Tensor* routed = b.moe(il, x,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .normalize = true,
                          .scale = hp.expert_weights_scale});
  Tensor* shared = b.ffn(il, x, {.suffix = "_shexp"});
  Tensor* gate = b.g.unary(ggml::Unary::sigmoid, b.mm(b.w(il, "ffn_gate_inp_shexp.weight"), x));
  return b.g.add(routed, b.g.mul(shared, gate));
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  const RecurrentInputs states = b.input_recurrent();
  const AttentionInputs in = b.input_attention();
  Tensor* positions = b.input_positions();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    b.g.expand(y);
    y = hp.is_recurrent(il) ? delta_net_layer(b, states, il, y)
                            : gated_attention(b, in, il, y, positions);
    Tensor* middle = b.g.add(y, x);
    y = b.rms(middle, b.w(il, "post_attention_norm.weight"), il);
    x = b.g.add(feed_forward(b, il, y), middle);
  }
  b.head_for_drafts(x, rows);
}

/// The block behind the last layer (graph_mtp): one, with attention.
void build_draft(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t il = hp.n_layer();
  const GraphBuilder::DraftInputs drafts = b.input_drafts(il);
  Tensor* positions = b.input_positions();
  Tensor* rows = b.input_output_rows();
  const AttentionInputs in = b.input_attention();
  Tensor* hidden = b.rms(drafts.hidden, b.w(il, "nextn.hnorm.weight"), il);
  Tensor* tokens = b.rms(drafts.tokens, b.w(il, "nextn.enorm.weight"), il);
  Tensor* x = b.mm(b.w(il, "nextn.eh_proj.weight"), b.g.concat(tokens, hidden, 0));
  Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
  Tensor* middle = b.g.add(gated_attention(b, in, il, y, positions), x);
  y = b.rms(middle, b.w(il, "post_attention_norm.weight"), il);
  x = b.g.add(feed_forward(b, il, y), middle);
  b.draft_head(il, x, rows);
}

}  // namespace
}  // namespace qwen35

const Architecture kQwen3Next{"qwen3next", qwen35::read_next, qwen35::list, qwen35::build,
                              qwen35::build_draft};
const Architecture kQwen35{"qwen35", qwen35::read, qwen35::list, qwen35::build,
                           qwen35::build_draft};
const Architecture kQwen35Moe{"qwen35moe", qwen35::read_moe, qwen35::list, qwen35::build,
                              qwen35::build_draft};

}  // namespace memtape::llamacpp::arch
