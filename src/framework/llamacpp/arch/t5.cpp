// SPDX-License-Identifier: Apache-2.0
// t5 and t5encoder: T5, Flan-T5: relative positions as a bias of the scores, which flash attention
// does not take, and a decoder that looks at what the encoder made. A server reserves memory for
// the decoder's graph alone.
#include "framework/llamacpp/arch/architectures.h"

#include <fmt/format.h>

namespace memtape::llamacpp::arch {
namespace t5 {
namespace {

constexpr std::string_view kEncoder = "enc", kDecoder = "dec";

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.relative_buckets = keys.dimension("attention.relative_buckets_count");
  hp.usually_tied = hp.has_encoder = true;
  if (keys.count("decoder_block_count", hp.n_layer()) != hp.n_layer())
    keys.fail("decoder_block_count", "must be block_count here");
}

void read_encoder(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.no_cache = hp.embeds = hp.unused_cache = true;
  hp.causal = false;
}

/// A tensor of the encoder or of the decoder.
std::string of(std::string_view half, std::string_view name) {
  return fmt::format("{}.{}.weight", half, name);
}

void list_half(const Hyperparameters& hp, std::string_view half, WeightList& weights) {
  const bool gated = weights.knows_stored() ? weights.is_stored(0, of(half, "ffn_gate"))
                                            : !weights.choices().extra;
  const auto attention = [&](std::int64_t il, std::string_view which) {
    for (const std::string_view part : {"q", "k", "v"})
      weights.add(il, of(half, fmt::format("{}_{}", which, part)), {hp.n_embd, hp.k_gqa()});
    weights.add(il, of(half, fmt::format("{}_o", which)), {hp.v_gqa(), hp.n_embd});
  };
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, of(half, "attn_norm"), {hp.n_embd});
    weights.maybe(il, of(half, "attn_rel_b"), {hp.n_head(), hp.relative_buckets}, il == 0);
    attention(il, "attn");
    if (half == kDecoder) {
      weights.add(il, of(half, "cross_attn_norm"), {hp.n_embd});
      attention(il, "cross_attn");
    }
    weights.add(il, of(half, "ffn_norm"), {hp.n_embd});
    if (gated) weights.add(il, of(half, "ffn_gate"), {hp.n_embd, hp.n_ff()});
    weights.add(il, of(half, "ffn_down"), {hp.n_ff(), hp.n_embd});
    weights.add(il, of(half, "ffn_up"), {hp.n_embd, hp.n_ff()});
  }
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.add(-1, "enc.output_norm.weight", {hp.n_embd});
  if (!hp.embeds) weights.add(-1, "dec.output_norm.weight", {hp.n_embd});
  weights.output_matrix(hp);
  list_half(hp, kEncoder, weights);
  if (!hp.embeds) list_half(hp, kDecoder, weights);
}

Tensor* normed(GraphBuilder& b, std::int64_t il, Tensor* x, std::string_view half,
               std::string_view name) {
  return b.rms(x, b.w(il, of(half, name)), il);
}

/// By head, key and token.
Tensor* position_bias(GraphBuilder& b, std::int64_t il, Tensor* buckets, std::string_view half) {
  Tensor* own = b.w(il, of(half, "attn_rel_b"));
  Tensor* table = own ? own : b.w(0, of(half, "attn_rel_b"));
  Tensor* flat = b.g.reshape(buckets, {buckets->elements(), 1, 1, 1});
  Tensor* bias = b.g.get_rows(table, flat);
  bias = b.g.reshape(bias, {bias->ne[0], buckets->ne[0], buckets->ne[1], 1});
  return b.g.cont(b.g.permute(bias, {2, 0, 1, 3}));
}

/// Q of the batch, K and V of `from`.
Qkv projected(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* from, std::string_view half,
              std::string_view which) {
  const Hyperparameters& hp = b.hp;
  const auto part = [&](std::string_view name, Tensor* in, std::int64_t heads) {
    Tensor* y = b.mm(b.w(il, of(half, fmt::format("{}_{}", which, name))), in);
    return b.g.reshape(y, {hp.head_v, heads, in->ne[1], 1});
  };
  return {part("q", x, hp.n_head()), part("k", from, hp.n_head_kv()),
          part("v", from, hp.n_head_kv())};
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x, std::string_view half) {
  Tensor* up = b.mm(b.w(il, of(half, "ffn_up")), x);
  Tensor* gate = b.w(il, of(half, "ffn_gate"));
  Tensor* y =
      gate ? b.g.glu(ggml::Glu::geglu, b.mm(gate, x), up) : b.g.unary(ggml::Unary::relu, up);
  return b.mm(b.w(il, of(half, "ffn_down")), y);
}

void build(GraphBuilder& b) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* encoded = g.input(ggml::Type::f32, {hp.n_embd, hp.n_ctx_train, 1, 1});
  Tensor* buckets = g.input(ggml::Type::i32, {b.cells(), b.n_tokens, 1, 1});
  const AttentionInputs in = b.input_attention();
  Tensor* across = b.input_mask({hp.n_ctx_train, b.n_tokens, 1, 1});
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = normed(b, il, x, kDecoder, "attn_norm");
    Qkv qkv = projected(b, il, y, y, kDecoder, "attn");
    y = b.attention(in, il, qkv, b.w(il, of(kDecoder, "attn_o")),
                    {.bias = position_bias(b, il, buckets, kDecoder)});
    x = g.add(y, x);
    y = normed(b, il, x, kDecoder, "cross_attn_norm");
    qkv = projected(b, il, y, encoded, kDecoder, "cross_attn");
    y = b.attention_uncached(across, il, qkv, b.w(il, of(kDecoder, "cross_attn_o")));
    if (b.is_last(il)) {
      y = g.get_rows(y, rows);
      x = g.get_rows(x, rows);
    }
    Tensor* middle = g.add(y, x);
    x = g.add(feed_forward(b, il, normed(b, il, middle, kDecoder, "ffn_norm"), kDecoder), middle);
  }
  x = b.rms(x, b.w("dec.output_norm.weight"), -1);
  b.set_output(x);
  b.finish(b.logits(x));
}

void build_encoder(GraphBuilder& b) {
  ggml::Graph& g = b.g;
  Tensor* x = b.input_embeddings();
  Tensor* buckets = g.input(ggml::Type::i32, {b.n_tokens, b.n_tokens, 1, 1});
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = normed(b, il, x, kEncoder, "attn_norm");
    const Qkv qkv = projected(b, il, y, y, kEncoder, "attn");
    y = b.attention(in, il, qkv, b.w(il, of(kEncoder, "attn_o")),
                    {.bias = position_bias(b, il, buckets, kEncoder)});
    if (b.is_last(il)) {
      y = g.get_rows(y, rows);
      x = g.get_rows(x, rows);
    }
    Tensor* middle = g.add(y, x);
    x = g.add(feed_forward(b, il, normed(b, il, middle, kEncoder, "ffn_norm"), kEncoder), middle);
  }
  b.finish(b.rms(x, b.w("enc.output_norm.weight"), -1));
}

}  // namespace
}  // namespace t5

const Architecture kT5{"t5", t5::read, t5::list, t5::build};
const Architecture kT5Encoder{"t5encoder", t5::read_encoder, t5::list, t5::build_encoder};

}  // namespace memtape::llamacpp::arch
