// SPDX-License-Identifier: Apache-2.0
// nemotron_h and nemotron_h_moe: each layer is one of three: Mamba 2, attention without rotation,
// or a feed-forward, which the latter has as experts, maybe in a narrower space.
#include "framework/llamacpp/arch/mamba.h"
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace nemotron_h {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  read_mamba2_sizes(hp, keys);
  hp.attention.assign(hp.recurrent.size(), false);
  for (std::int64_t il = 0; il < hp.n_layer_all; ++il) {
    const auto at = static_cast<std::size_t>(il);
    const bool mixes = hp.n_ff(il) == 0, trunk = il < hp.n_layer();
    hp.recurrent[at] = trunk && mixes && hp.n_head_kv(il) == 0;
    hp.attention[at] = trunk && mixes && hp.n_head_kv(il) > 0;
  }
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.n_latent_expert = keys.count("moe_latent_size", 0);
}

void list_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head(il);
  weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)});
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
  weights.maybe(il, "attn_output.bias", {hp.n_embd}, false);
}

void list_ungated(const Hyperparameters& hp, std::int64_t il, std::int64_t width,
                  std::string_view suffix, WeightList& weights) {
  weights.add(il, std::string("ffn_down").append(suffix) + ".weight", {width, hp.n_embd});
  weights.add(il, std::string("ffn_up").append(suffix) + ".weight", {hp.n_embd, width});
}

void list_experts(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t latent = hp.n_latent_expert > 0 ? hp.n_latent_expert : hp.n_embd;
  const std::int64_t width = hp.n_ff_exp(il) > 0 ? hp.n_ff_exp(il) : hp.n_ff(il) / hp.n_expert_used;
  weights.add(il, "ffn_gate_inp.weight", {hp.n_embd, hp.n_expert});
  weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  weights.maybe(il, "ffn_latent_down.weight", {hp.n_embd, latent}, hp.n_latent_expert > 0);
  weights.maybe(il, "ffn_latent_up.weight", {latent, hp.n_embd}, hp.n_latent_expert > 0);
  weights.add(il, "ffn_down_exps.weight", {width, latent, hp.n_expert});
  weights.add(il, "ffn_up_exps.weight", {latent, width, hp.n_expert});
  list_ungated(hp, il, hp.n_ff_shexp, "_shexp", weights);
}

void list_draft(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  list_attention(hp, il, weights);
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  list_experts(hp, il, weights);
  weights.draft_block(hp, il, false);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.is_recurrent(il))
      list_mamba2_layer(hp, il, weights);
    else if (hp.has_attention(il))
      list_attention(hp, il, weights);
    else if (hp.n_expert > 0)
      list_experts(hp, il, weights);
    else
      list_ungated(hp, il, hp.n_ff(il), "", weights);
  }
  weights.skip_from_here();
  for (std::int64_t il = hp.n_layer(); il < hp.n_layer_all; ++il) list_draft(hp, il, weights);
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (!b.w(il, "ffn_gate_inp.weight"))
    return b.ffn(il, x, {.activation = Activation::relu_sqr, .gated = false});
  Tensor* down = b.w(il, "ffn_latent_down.weight");
  Tensor* narrow = down ? b.mm(down, x) : x;
  Tensor* routed = b.moe(il, narrow,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .activation = Activation::relu_sqr,
                          .normalize = hp.expert_weights_norm,
                          .scale = hp.expert_weights_scale,
                          .gating = Gating::sigmoid,
                          .logits = b.mm(b.w(il, "ffn_gate_inp.weight"), x)});
  if (Tensor* up = b.w(il, "ffn_latent_up.weight")) routed = b.mm(up, routed);
  return b.g.add(
      routed,
      b.ffn(il, x, {.activation = Activation::relu_sqr, .suffix = "_shexp", .gated = false}));
}

Tensor* attended(GraphBuilder& b, std::int64_t il, Tensor* x, const AttentionInputs& in) {
  const Hyperparameters& hp = b.hp;
  const Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                     {.wo_bias = b.w(il, "attn_output.bias")});
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  const RecurrentInputs states = b.input_recurrent();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    if (hp.is_recurrent(il))
      y = mamba2_layer(b, states, il, y);
    else
      y = hp.has_attention(il) ? attended(b, il, y, in) : feed_forward(b, il, y);
    x = b.g.add(y, x);
  }
  b.head_for_drafts(x, rows);
}

}  // namespace
}  // namespace nemotron_h

const Architecture kNemotronH{"nemotron_h", nemotron_h::read, nemotron_h::list, nemotron_h::build};
const Architecture kNemotronHMoe{"nemotron_h_moe", nemotron_h::read, nemotron_h::list,
                                 nemotron_h::build};

}  // namespace memtape::llamacpp::arch
