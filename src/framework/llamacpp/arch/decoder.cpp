// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/decoder.h"

#include <fmt/format.h>

namespace memtape::llamacpp::arch {
namespace {

struct DecoderInputs {
  Tensor* positions;
  AttentionInputs attention;
  Tensor* scale;  ///< of queries far back; null for most
};

Tensor* embedded(GraphBuilder& b, Tensor* positions, Norm kind) {
  Tensor* x = b.input_embeddings();
  if (Tensor* learned = b.w("position_embd.weight"))
    x = b.g.add(x, b.g.get_rows(learned, positions));
  if (Tensor* weight = b.w("token_embd_norm.weight"))
    x = b.norm(x, weight, b.w("token_embd_norm.bias"), kind, 0);
  return x;
}

bool rotates(const Hyperparameters& hp, std::int64_t il) {
  if (hp.rotates_windows_only && hp.swa) return hp.is_swa(il);
  return hp.no_rope_step == 0 || (il + 1) % hp.no_rope_step != 0;
}

Qkv normed_rows(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv_flat(il, x, hp.head_v * hp.n_head(), hp.k_gqa(), hp.k_gqa());
  qkv.q = b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il);
  qkv.k = b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il);
  qkv.q = b.g.reshape(qkv.q, {hp.head_v, hp.n_head(), b.n_tokens, 1});
  qkv.k = b.g.reshape(qkv.k, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1});
  qkv.v = b.g.reshape(qkv.v, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1});
  return qkv;
}

Tensor* attended(GraphBuilder& b, const DecoderSpec& spec, std::int64_t il, Tensor* x,
                 const DecoderInputs& in) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = spec.norms_rows ? normed_rows(b, il, x)
                            : b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  const auto norm_heads = [&] {
    if (Tensor* w = b.w(il, "attn_q_norm.weight"))
      qkv.q = b.norm(qkv.q, w, nullptr, spec.head_norm, il);
    if (Tensor* w = b.w(il, "attn_k_norm.weight"))
      qkv.k = b.norm(qkv.k, w, nullptr, spec.head_norm, il);
  };
  if (!spec.rotates_first && !spec.norms_rows) norm_heads();
  if (rotates(hp, il)) {
    Tensor* factors = b.rope_factors(il);
    qkv.q = b.rope(qkv.q, in.positions, factors);
    qkv.k = b.rope(qkv.k, in.positions, factors);
  }
  if (spec.rotates_first) norm_heads();
  if (in.scale) qkv.q = b.g.mul(qkv.q, in.scale);
  if (spec.scales_queries) qkv.q = b.g.scale(qkv.q);
  return b.attention(in.attention, il, qkv, b.w(il, "attn_output.weight"),
                     {.wo_bias = b.w(il, "attn_output.bias")});
}

Tensor* for_attention(GraphBuilder& b, const DecoderSpec& spec, std::int64_t il,
                      const Attended& a) {
  if (spec.second_norm.empty()) return a.normed;
  const auto of = [&](std::string_view part) {
    return b.w(il, fmt::format("{}.{}", spec.second_norm, part));
  };
  Tensor* weight = of("weight");
  return weight ? b.norm(a.residual, weight, of("bias"), spec.norm, il) : a.normed;
}

}  // namespace

Tensor* add_feed_forward(GraphBuilder& b, std::int64_t il, Attended attended,
                         FeedForward feed_forward, std::string_view norm) {
  Tensor* middle = b.g.add(attended.y, attended.residual);
  return b.g.add(feed_forward(b, il, b.rms(middle, b.w(il, norm), il)), middle);
}

Tensor* finish_layer(GraphBuilder& b, std::int64_t il, Tensor* y, Tensor* residual, Tensor* rows,
                     FeedForward feed_forward) {
  if (b.is_last(il)) {
    y = b.g.get_rows(y, rows);
    residual = b.g.get_rows(residual, rows);
  }
  return add_feed_forward(b, il, {.y = y, .residual = residual, .normed = nullptr}, feed_forward);
}

void build_decoder(GraphBuilder& b, const DecoderSpec& spec) {
  const Hyperparameters& hp = b.hp;
  Tensor* positions = b.input_positions();
  Tensor* x = embedded(b, positions, spec.norm);
  Tensor* scale = hp.attn_temp_scale != 0 ? b.input_attention_scale() : nullptr;
  const DecoderInputs in{positions, b.input_attention(), scale};
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Attended a{.y = nullptr, .residual = x, .normed = x};
    if (spec.norm_first)
      a.normed = b.norm(x, b.w(il, "attn_norm.weight"), b.w(il, "attn_norm.bias"), spec.norm, il);
    a.y = attended(b, spec, il, for_attention(b, spec, il, a), in);
    if (b.is_last(il))
      for (Tensor** of : {&a.y, &a.residual, &a.normed}) *of = b.g.get_rows(*of, rows);
    x = spec.rest(b, il, a);
    if (il < hp.n_deepstack) x = b.g.add(x, b.image_features(il));
  }
  b.head(x, spec.norm);
}

}  // namespace memtape::llamacpp::arch
