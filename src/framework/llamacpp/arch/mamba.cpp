// SPDX-License-Identifier: Apache-2.0
// mamba and mamba2: layers of selective state spaces, no attention.
#include "framework/llamacpp/arch/mamba.h"

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace mamba {
namespace {

void all_recurrent(Hyperparameters& hp) {
  hp.recurrent.assign(hp.recurrent.size(), true);
  hp.usually_tied = true;  // as state-spaces publishes them
}

void read_mamba(Hyperparameters& hp, KeyReader& keys) {
  read_mamba_sizes(hp, keys);
  all_recurrent(hp);
  hp.ssm_dt_b_c_rms = keys.flag("ssm.dt_b_c_rms", false);
  if (2 * hp.n_embd != hp.ssm_inner)
    keys.fail("ssm.inner_size", "must be twice the embedding length");
}

void read_mamba2(Hyperparameters& hp, KeyReader& keys) {
  read_mamba2_sizes(hp, keys);
  all_recurrent(hp);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.arch == "mamba2")
      list_mamba2_layer(hp, il, weights);
    else
      list_mamba_layer(hp, il, weights);
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  const RecurrentInputs in = b.input_recurrent();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = hp.arch == "mamba2" ? mamba2_layer(b, in, il, y) : mamba_layer(b, in, il, y);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    x = b.g.add(y, x);
  }
  b.head(x);
}

}  // namespace
}  // namespace mamba

const Architecture kMamba{"mamba", mamba::read_mamba, mamba::list, mamba::build};
const Architecture kMamba2{"mamba2", mamba::read_mamba2, mamba::list, mamba::build};

}  // namespace memtape::llamacpp::arch
