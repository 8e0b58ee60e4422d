// SPDX-License-Identifier: Apache-2.0
// Encoders: bert, nomic-bert (rotation, a gate), nomic-bert-moe, jina-bert-v2 (linear biases) and
// jina-bert-v3 (rotation), with norms behind each sum; eurobert and modern-bert, whose norms come
// first, the latter with windows in two of three layers.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace bert {
namespace {

constexpr PlainDecoder kEuro{};

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.causal = false;
  hp.no_cache = hp.embeds = true;
  const auto types = keys.metadata().integer("tokenizer.ggml.token_type_count");
  hp.n_token_types = types.value_or(0);
  if (hp.n_token_types < 0 || hp.n_token_types > hp.n_vocab)
    keys.fail("token_type_count", "is out of range");
}

void read_moe(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.expert_layer_step = keys.dimension("moe_every_n_layers");
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read_jina2(Hyperparameters& hp, KeyReader& keys) {
  read(hp, keys);
  hp.max_alibi_bias = 8;
}

void read_euro(Hyperparameters& hp, KeyReader&) {
  hp.causal = false;
  hp.no_cache = hp.embeds = true;
}

void read_modern(Hyperparameters& hp, KeyReader& keys) {
  constexpr std::int64_t kFullLayerEvery = 3;
  read_euro(hp, keys);
  if (!keys.has("pooling_type")) hp.pooling = 1;  // the mean
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, kFullLayerEvery, true);
}

bool is(const Hyperparameters& hp, std::string_view name) { return hp.arch == name; }

bool rotates(const Hyperparameters& hp) { return !is(hp, "bert") && !is(hp, "jina-bert-v2"); }

/// Every so many layers, from the second.
bool has_experts(const Hyperparameters& hp, std::int64_t il) {
  return hp.n_expert > 0 && hp.expert_layer_step > 0 && il % hp.expert_layer_step == 1;
}

/// Jina's gate lies in one matrix with what it gates.
bool gate_within(const Hyperparameters& hp, const WeightList& weights) {
  return is(hp, "jina-bert-v2") && !weights.is_stored(0, "ffn_gate.weight");
}

void add_norm(WeightList& weights, const Hyperparameters& hp, std::int64_t il,
              std::string_view name) {
  for (const char* part : {".weight", ".bias"})
    weights.add(il, std::string(name) + part, {hp.n_embd});
}

void list_feed_forward(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  if (has_experts(hp, il)) {
    weights.add(il, "ffn_up_exps.weight", {hp.n_embd, hp.n_ff(), hp.n_expert});
    weights.add(il, "ffn_down_exps.weight", {hp.n_ff(), hp.n_embd, hp.n_expert});
    weights.add(il, "ffn_gate_inp.weight", {hp.n_embd, hp.n_expert});
    return;
  }
  const bool nomic = is(hp, "nomic-bert"), jina2 = is(hp, "jina-bert-v2");
  const std::int64_t up = gate_within(hp, weights) ? 2 * hp.n_ff() : hp.n_ff();
  weights.maybe(il, "ffn_gate.weight", {hp.n_embd, hp.n_ff()}, nomic);
  weights.add(il, "ffn_up.weight", {hp.n_embd, up});
  weights.maybe(il, "ffn_up.bias", {up}, !nomic && !jina2);
  weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
  weights.maybe(il, "ffn_down.bias", {hp.n_embd}, !nomic);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const bool biased = !is(hp, "nomic-bert");
  weights.token_embeddings(hp);
  if (hp.n_token_types > 0)
    weights.maybe(-1, "token_types.weight", {hp.n_embd, hp.n_token_types}, true);
  if (is(hp, "bert")) weights.add(-1, "position_embd.weight", {hp.n_embd, hp.n_ctx_train});
  weights.of_first_layer("token_embd_norm.weight", {hp.n_embd});
  weights.of_first_layer("token_embd_norm.bias", {hp.n_embd});
  const std::int64_t classes = is(hp, "jina-bert-v2") ? 1 : hp.n_embd;
  weights.maybe(-1, "cls.weight", {hp.n_embd, classes}, false);
  weights.maybe(-1, "cls.bias", {classes}, false);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()}, biased, rotates(hp));
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.maybe(il, "attn_output.bias", {hp.n_embd}, biased);
    add_norm(weights, hp, il, "attn_output_norm");
    list_feed_forward(hp, il, weights);
    add_norm(weights, hp, il, "layer_output_norm");
  }
}

void list_modern(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.of_first_layer("token_embd_norm.weight", {hp.n_embd});
  weights.add(-1, "output_norm.weight", {hp.n_embd});
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.maybe(il, "attn_norm.weight", {hp.n_embd}, il > 0);
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.n_embd, hp.n_embd}, false, true);
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "ffn_up.weight", {hp.n_embd, 2 * hp.n_ff()});
    weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
  }
  weights.maybe(-1, "cls.weight", {hp.n_embd, hp.n_embd}, false);
  weights.maybe(-1, "cls.norm.weight", {hp.n_embd}, false);
}

void list_euro(const Hyperparameters& hp, WeightList& weights) { list_plain(kEuro, hp, weights); }

Tensor* normed(GraphBuilder& b, std::int64_t il, Tensor* x, std::string_view name) {
  return b.norm(x, b.w(il, std::string(name) + ".weight"), b.w(il, std::string(name) + ".bias"),
                Norm::layer, il);
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (has_experts(hp, il))
    return b.moe(
        il, x,
        {.n_expert = hp.n_expert, .n_used = hp.n_expert_used, .activation = Activation::gelu});
  if (b.w(il, "ffn_gate.weight"))
    return b.ffn(il, x,
                 {.activation = is(hp, "jina-bert-v2") ? Activation::gelu : Activation::silu});
  const bool within = is(hp, "jina-bert-v2") && b.w(il, "ffn_up.weight")->ne[1] != hp.n_ff();
  return b.ffn(il, x,
               {.activation = within ? Activation::geglu_fused : Activation::gelu, .gated = false});
}

Tensor* embedded(GraphBuilder& b, Tensor* positions) {
  Tensor* x = b.input_embeddings();
  if (Tensor* types = b.w("token_types.weight")) x = b.g.add(x, b.g.view_1d(types, b.hp.n_embd, 0));
  if (Tensor* learned = b.w("position_embd.weight"))
    x = b.g.add(b.g.get_rows(learned, positions), x);
  return b.norm(x, b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), Norm::layer, 0);
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* positions = b.input_positions();
  Tensor* x = embedded(b, positions);
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (rotates(hp)) {
      qkv.q = b.rope(qkv.q, positions);
      qkv.k = b.rope(qkv.k, positions);
    }
    Tensor* y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                            {.wo_bias = b.w(il, "attn_output.bias")});
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    Tensor* middle = normed(b, il, b.g.add(y, x), "attn_output_norm");
    x = normed(b, il, b.g.add(feed_forward(b, il, middle), middle), "layer_output_norm");
  }
  b.finish(x);
}

void build_euro(GraphBuilder& b) {
  build_plain(kEuro, b, [](GraphBuilder& graph, std::int64_t il, Attended a) {
    return rest_of_plain(kEuro, graph, il, a);
  });
}

void build_modern(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* positions = b.input_positions();
  Tensor* x = normed(b, -1, b.input_embeddings(), "token_embd_norm");
  Tensor* rows = b.input_output_rows();
  const AttentionInputs in = b.input_attention();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.w(il, "attn_norm.weight") ? normed(b, il, x, "attn_norm") : x;
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    Tensor* middle = b.g.add(y, x);
    y = b.ffn(il, normed(b, il, middle, "ffn_norm"),
              {.activation = Activation::geglu_fused, .gated = false});
    x = b.g.add(y, middle);
  }
  b.head(x, Norm::layer);
}

}  // namespace
}  // namespace bert

const Architecture kModernBert{"modern-bert", bert::read_modern, bert::list_modern,
                               bert::build_modern};
const Architecture kBert{"bert", bert::read, bert::list, bert::build};
const Architecture kEuroBert{"eurobert", bert::read_euro, bert::list_euro, bert::build_euro};
const Architecture kJinaBert2{"jina-bert-v2", bert::read_jina2, bert::list, bert::build};
const Architecture kJinaBert3{"jina-bert-v3", bert::read, bert::list, bert::build};
const Architecture kNomicBert{"nomic-bert", bert::read, bert::list, bert::build};
const Architecture kNomicBertMoe{"nomic-bert-moe", bert::read_moe, bert::list, bert::build};

}  // namespace memtape::llamacpp::arch
