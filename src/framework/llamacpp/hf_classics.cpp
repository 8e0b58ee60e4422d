// SPDX-License-Identifier: Apache-2.0
// Older families, which name their sizes in their own ways, and encoders.
#include "framework/llamacpp/hf_converter.h"

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kWidening = 4;  ///< of a feed-forward whose width no key says

void widened(Converter& w) {
  w.otherwise("feed_forward_length",
              kWidening * w.c.dimension({"hidden_size", "n_embd", "d_model"}));
}

}  // namespace

void convert_gpt2(Converter& w) { widened(w); }

void convert_gpt_bigcode(Converter& w) {
  widened(w);
  if (w.c.boolean("multi_query", true)) w.set("attention.head_count_kv", 1);
}

void convert_bloom(Converter& w) {
  w.otherwise("context_length", 2048);
  widened(w);
}

void convert_mpt(Converter& w) {
  const Config attention = w.c.object("attn_config");
  widened(w);
  if (const auto heads = attention.optional_dimension("kv_n_heads"))
    w.set("attention.head_count_kv", *heads);
  if (const auto most = attention.optional_number("clip_qkv"))
    w.set_real("attention.clamp_kqv", *most);
  if (attention.boolean("alibi", true))
    w.set_real("attention.max_alibi_bias", attention.number("alibi_bias_max", 8));
}

void convert_dbrx(Converter& w) {
  const Config attention = w.c.object("attn_config"), experts = w.c.object("ffn_config");
  w.set("attention.head_count_kv", attention.dimension("kv_n_heads"));
  if (const auto most = attention.optional_number("clip_qkv"))
    w.set_real("attention.clamp_kqv", *most);
  w.set("feed_forward_length", experts.dimension("ffn_hidden_size"));
  w.set("expert_count", experts.dimension("moe_num_experts"));
  w.set("expert_used_count", experts.dimension("moe_top_k"));
}

void convert_falcon(Converter& w) {
  w.otherwise("context_length", 2048);
  w.copy("feed_forward_length", "ffn_hidden_size");
  widened(w);
  const bool fewer = w.c.boolean("new_decoder_architecture", false);
  const bool one = w.c.boolean("multi_query", true) && !fewer;
  const std::int64_t all = w.c.dimension({"num_attention_heads", "n_head"});
  w.set("attention.head_count_kv", one ? 1 : w.c.dimension({"num_kv_heads", "n_head_kv"}, all));
}

void convert_neox(Converter& w) {
  const std::int64_t head = w.c.dimension("hidden_size") / w.c.dimension("num_attention_heads");
  const double part = w.c.optional_number("rotary_pct").value_or(0.25);
  if (!(part >= 0 && part <= 1)) return w.c.fail("rotary_pct", "must be from 0 to 1");
  w.set("rope.dimension_count", static_cast<std::int64_t>(part * static_cast<double>(head)));
  w.set("use_parallel_residual", w.c.boolean("use_parallel_residual", true) ? 1 : 0);
}

void convert_olmo(Converter& w) { w.copy_real("attention.clamp_kqv", "clip_qkv"); }

void convert_phi(Converter& w) { w.partial_rotation(0.5); }

void convert_nemotron(Converter& w) { w.partial_rotation(0.5); }

void convert_stablelm(Converter& w) {
  w.partial_rotation(0.25);
  w.out.choices.extra = w.c.boolean("use_qkv_bias", false);
}

void convert_bert(Converter& w) {
  MetaValue& types = w.out.metadata.values["tokenizer.ggml.token_type_count"];
  types.integer = w.c.dimension("type_vocab_size", 2);
}

}  // namespace memtape::llamacpp
