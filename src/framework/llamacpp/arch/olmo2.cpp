// SPDX-License-Identifier: Apache-2.0
// olmo2 and exaone4: norms after each part and none before; the former norms all of Q and K, the
// latter their heads. Both may have windows; exaone4 rotates in those layers only.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace olmo2 {
namespace {

constexpr std::int64_t kLayersWithWindows = 64;  ///< EXAONE 4.0 32B
constexpr std::int64_t kFullLayerEvery = 4, kUsualWindow = 4096;

void read_olmo2(Hyperparameters& hp, KeyReader& keys) {
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, kFullLayerEvery);
}

void read_exaone4(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = hp.n_layer() == kLayersWithWindows;
  hp.rotates_windows_only = true;
  if (!hp.swa) return;
  hp.n_swa = keys.count("attention.sliding_window", kUsualWindow);
  hp.read_swa_pattern(keys, kFullLayerEvery);
}

void list_layer(const Hyperparameters& hp, WeightList& weights, std::int64_t il) {
  weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.v_gqa()});
  weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
}

void list_olmo2(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    list_layer(hp, weights, il);
    weights.add(il, "attn_q_norm.weight", {hp.n_embd});
    weights.add(il, "attn_k_norm.weight", {hp.k_gqa()});
  }
}

void list_exaone4(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer_all; ++il) {
    if (il == hp.n_layer()) weights.skip_from_here();
    list_layer(hp, weights, il);
    weights.add(il, "attn_q_norm.weight", {hp.head_k});
    weights.add(il, "attn_k_norm.weight", {hp.head_k});
    if (il < hp.n_layer())
      weights.rope_factors(hp, il);
    else
      weights.draft_block(hp, il, false);
  }
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* y = b.rms(attended.y, b.w(il, "post_attention_norm.weight"), il);
  Tensor* middle = b.g.add(y, attended.residual);
  y = b.rms(b.ffn(il, middle, {}), b.w(il, "post_ffw_norm.weight"), -1);
  return b.g.add(y, middle);
}

void build_olmo2(GraphBuilder& b) {
  build_decoder(b, {.rest = rest_of_layer, .norm_first = false, .norms_rows = true});
}

void build_exaone4(GraphBuilder& b) {
  build_decoder(b, {.rest = rest_of_layer, .norm_first = false});
}

}  // namespace
}  // namespace olmo2

const Architecture kOlmo2{"olmo2", olmo2::read_olmo2, olmo2::list_olmo2, olmo2::build_olmo2};
const Architecture kExaone4{"exaone4", olmo2::read_exaone4, olmo2::list_exaone4,
                            olmo2::build_exaone4};

}  // namespace memtape::llamacpp::arch
