// SPDX-License-Identifier: Apache-2.0
// command-r and cohere2: attention and feed-forward side by side on one norm; the output is the
// embeddings. The latter rotates in layers with a window, and every fourth has none.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr std::int64_t kLayersWithHeadNorms = 64;  ///< Command R+ and later

void read(Hyperparameters& hp, KeyReader& keys) { hp.logit_scale = keys.number("logit_scale", 0); }

void read_cohere2(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = true;
  hp.read_swa_pattern(keys, 4);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp, true);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (!hp.swa && hp.n_layer() >= kLayersWithHeadNorms) {
      weights.add(il, "attn_q_norm.weight", {hp.head_k, hp.n_head()});
      weights.add(il, "attn_k_norm.weight", {hp.head_k, hp.n_head_kv()});
    }
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  const auto normed = [&](std::int64_t il, Tensor* y, std::string_view name) {
    Tensor* weight = b.w(il, name);
    return weight ? b.norm(y, weight, nullptr, Norm::layer, il) : y;
  };
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.norm(x, b.w(il, "attn_norm.weight"), nullptr, Norm::layer, il);
    Tensor* of_ffn = y;
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (!hp.swa || hp.is_swa(il)) {
      qkv.q = b.rope(normed(il, qkv.q, "attn_q_norm.weight"), positions);
      qkv.k = b.rope(normed(il, qkv.k, "attn_k_norm.weight"), positions);
    }
    Tensor* attended = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      attended = b.g.get_rows(attended, rows);
      x = b.g.get_rows(x, rows);
      of_ffn = b.g.get_rows(of_ffn, rows);
    }
    x = b.g.add(b.g.add(b.ffn(il, of_ffn, {}), x), attended);
  }
  b.head(x, Norm::layer);
}

}  // namespace

const Architecture kCohere2{"cohere2", read_cohere2, list, build};
const Architecture kCommandR{"command-r", read, list, build};

}  // namespace memtape::llamacpp::arch
