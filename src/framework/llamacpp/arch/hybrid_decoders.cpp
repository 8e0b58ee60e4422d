// SPDX-License-Identifier: Apache-2.0
// Decoders of Mamba layers with a few attention layers among them: jamba, granitehybrid, and
// falcon-h1, where each layer is both.
#include "framework/llamacpp/arch/mamba.h"
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr PlainDecoder kGraniteLike{};

/// Jamba has experts in every other layer, from the second.
constexpr std::int64_t kJambaExpertsEvery = 2;

struct HybridInputs {
  RecurrentInputs states;
  AttentionInputs attention;
  Tensor* positions;
};

/// Layers without heads for keys are recurrent.
void read_pattern(Hyperparameters& hp) {
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    hp.recurrent[static_cast<std::size_t>(il)] = hp.n_head_kv(il) == 0;
}

void read_jamba(Hyperparameters& hp, KeyReader& keys) {
  read_mamba_sizes(hp, keys);
  read_pattern(hp);
  if (hp.n_expert > 0) hp.expert_layer_step = kJambaExpertsEvery;
}

void read_granite_hybrid(Hyperparameters& hp, KeyReader& keys) {
  read_mamba2_sizes(hp, keys);
  read_pattern(hp);
  hp.logit_scale = keys.number("logit_scale", 0);
  hp.residual_scale = keys.number("residual_scale", 0);
  hp.embedding_scale = keys.number("embedding_scale", 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_norm = true;
  hp.usually_tied = true;
  if (!keys.flag("rope.scaling.finetuned", true)) hp.no_rope_step = 1;
}

void read_falcon_h1(Hyperparameters& hp, KeyReader& keys) {
  read_mamba2_sizes(hp, keys);
  hp.recurrent.assign(hp.recurrent.size(), true);
  hp.attention.assign(hp.recurrent.size(), true);
}

void list_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head(il);
  weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)});
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
}

void list_experts_or_dense(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const bool experts =
      weights.knows_stored() ? weights.is_stored(il, "ffn_gate_inp.weight") : hp.has_experts(il);
  if (!experts) return weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  weights.experts(il, hp, hp.n_ff());
  if (hp.n_ff_shexp > 0) weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
}

void list_jamba(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.is_recurrent(il)) {
      list_mamba_layer(hp, il, weights);
      weights.add(il, "ssm_dt_norm.weight", {hp.ssm_dt_rank});
      weights.add(il, "ssm_b_norm.weight", {hp.ssm_state});
      weights.add(il, "ssm_c_norm.weight", {hp.ssm_state});
    } else {
      list_attention(hp, il, weights);
    }
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    list_experts_or_dense(hp, il, weights);
  }
}

void list_granite_hybrid(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.is_recurrent(il))
      list_mamba2_layer(hp, il, weights);
    else
      list_attention(hp, il, weights);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.rope_factors(hp, il);
    list_experts_or_dense(hp, il, weights);
  }
}

/// Its second norm's name has no ".weight".
void list_falcon_h1(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    list_mamba2_layer(hp, il, weights, weights.choices().extra);
    list_attention(hp, il, weights);
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_norm", {hp.n_embd});
    weights.rope_factors(hp, il);
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  }
}

HybridInputs inputs_of(GraphBuilder& b) {
  const RecurrentInputs states = b.input_recurrent();
  const AttentionInputs attention = b.input_attention();
  return {states, attention, b.input_positions()};
}

Tensor* attended(GraphBuilder& b, std::int64_t il, Tensor* x, const HybridInputs& in,
                 bool rotates) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  if (rotates) {
    Tensor* factors = b.rope_factors(il);
    qkv.q = b.rope(qkv.q, in.positions, factors);
    qkv.k = b.rope(qkv.k, in.positions, factors);
  }
  return b.attention(in.attention, il, qkv, b.w(il, "attn_output.weight"));
}

Tensor* rest_of_jamba(GraphBuilder& b, std::int64_t il, Attended a) {
  Tensor* middle = b.g.add(a.residual, a.y);
  Tensor* y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
  y = b.w(il, "ffn_gate_inp.weight") ? experts_and_shared(b, il, y, Activation::silu)
                                     : b.ffn(il, y, {});
  return b.g.add(middle, y);
}

Tensor* rest_of_granite(GraphBuilder& b, std::int64_t il, Attended a) {
  return rest_of_plain(kGraniteLike, b, il, a);
}

using StateLayer = Tensor* (*)(GraphBuilder&, const RecurrentInputs&, std::int64_t, Tensor*);

/// Layers of states, or of attention, with a feed-forward each.
void build_alternating(GraphBuilder& b, StateLayer states, bool rotates, RestOfLayer rest) {
  Tensor* x = b.input_embeddings();
  const HybridInputs in = inputs_of(b);
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = b.hp.is_recurrent(il) ? states(b, in.states, il, y) : attended(b, il, y, in, rotates);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    x = rest(b, il, {.y = y, .residual = x, .normed = nullptr});
  }
  b.head(x);
}

void build_jamba(GraphBuilder& b) { build_alternating(b, mamba_layer, false, rest_of_jamba); }

void build_granite_hybrid(GraphBuilder& b) {
  build_alternating(b, mamba2_layer, b.hp.no_rope_step == 0, rest_of_granite);
}

void build_falcon_h1(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  const HybridInputs in = inputs_of(b);
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    const auto normed = [&] { return b.rms(x, b.w(il, "attn_norm.weight"), il); };
    Tensor* of_attention = attended(b, il, normed(), in, true);
    Tensor* of_states = mamba2_layer(b, in.states, il, normed());
    Tensor* middle = b.g.add(b.g.add(of_attention, of_states), x);
    if (b.is_last(il)) middle = b.g.get_rows(middle, rows);
    x = b.g.add(b.ffn(il, b.rms(middle, b.w(il, "ffn_norm"), il), {}), middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kFalconH1{"falcon-h1", read_falcon_h1, list_falcon_h1, build_falcon_h1};
const Architecture kGraniteHybrid{"granitehybrid", read_granite_hybrid, list_granite_hybrid,
                                  build_granite_hybrid};
const Architecture kJamba{"jamba", read_jamba, list_jamba, build_jamba};

}  // namespace memtape::llamacpp::arch
