// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/per_layer_inputs.h"

namespace memtape::llamacpp::arch {

void list_per_layer_inputs(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t all = hp.n_embd_per_layer * hp.n_layer();
  weights.add(-1, "per_layer_token_embd.weight", {all, hp.n_vocab});
  weights.of_first_layer("per_layer_model_proj.weight", {hp.n_embd, all});
  weights.of_first_layer("per_layer_proj_norm.weight", {hp.n_embd_per_layer});
}

void list_per_layer_gate(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "inp_gate.weight", {hp.n_embd, hp.n_embd_per_layer});
  weights.add(il, "proj.weight", {hp.n_embd_per_layer, hp.n_embd});
  weights.add(il, "post_norm.weight", {hp.n_embd});
}

Tensor* per_layer_inputs(GraphBuilder& b, Tensor* embedded) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const ggml::Extents shape{hp.n_embd_per_layer, hp.n_layer(), b.n_tokens, 1};
  Tensor* tokens = g.input(ggml::Type::i32, {b.n_tokens, 1, 1, 1});
  Tensor* own = g.get_rows(b.w("per_layer_token_embd.weight"), tokens);
  own = g.scale(g.reshape(own, shape));
  g.expand(own);
  Tensor* projected = g.scale(b.mm(b.w("per_layer_model_proj.weight"), embedded));
  projected = b.rms(g.reshape(projected, shape), b.w("per_layer_proj_norm.weight"), -1);
  return g.cont(g.permute(g.scale(g.add(projected, own)), {0, 2, 1, 3}));
}

Tensor* slice(GraphBuilder& b, Tensor* x, std::int64_t index) {
  const Bytes row = ggml::row_size(x->type, x->ne[0]);
  return b.g.view_2d(x, {x->ne[0], x->ne[1], 1, 1}, row, index * x->ne[1] * row);
}

Tensor* per_layer_part(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* parts) {
  Tensor* gate = b.g.unary(ggml::Unary::gelu, b.mm(b.w(il, "inp_gate.weight"), x));
  Tensor* y = b.mm(b.w(il, "proj.weight"), b.g.mul(gate, slice(b, parts, il)));
  return b.rms(y, b.w(il, "post_norm.weight"), il);
}

}  // namespace memtape::llamacpp::arch
