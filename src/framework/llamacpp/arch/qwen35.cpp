// SPDX-License-Identifier: Apache-2.0
// qwen35: Qwen3.5: three layers of gated delta nets, then one with gated attention.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/delta_net.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  read_delta_net(hp, keys);
  hp.mrope = true;
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  if (hp.is_recurrent(il))
    list_delta_net(hp, il, weights);
  else
    list_gated_attention(hp, il, weights);
  weights.gated_ffn(il, hp.n_embd, hp.n_ff());
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) list_layer(hp, il, weights);
  weights.skip_from_here();
  for (std::int64_t il = hp.n_layer(); il < hp.n_layer_all; ++il) {
    list_layer(hp, il, weights);
    weights.draft_block(hp, il);
  }
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
    x = b.g.add(b.ffn(il, y, {}), middle);
  }
  x = b.rms(x, b.w("output_norm.weight"), -1);
  b.set_output(x);  // read by draft heads
  x = b.g.get_rows(x, rows);
  b.set_output(x);
  b.finish(b.logits(x));
}

}  // namespace

const Architecture kQwen35{"qwen35", read, list, build};

}  // namespace memtape::llamacpp::arch
