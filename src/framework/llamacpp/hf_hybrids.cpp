// SPDX-License-Identifier: Apache-2.0
// Families whose layers are of more than one kind, or hold states.
#include <algorithm>

#include "framework/llamacpp/hf_converter.h"
#include "model/layer_letters.h"

namespace memtape::llamacpp {
namespace {

void state_space(Converter& w) {
  const std::int64_t width = w.c.dimension({"hidden_size", "d_model"});
  const std::int64_t inner = w.c.optional_dimension({"intermediate_size", "d_inner"})
                                 .value_or(w.c.dimension("expand", 2) * width);
  w.set("context_length", std::int64_t{1} << 20);
  w.set("feed_forward_length", 0);
  w.set("attention.head_count", 0);
  w.set("ssm.conv_kernel", w.c.dimension({"conv_kernel", "d_conv"}, 4));
  w.set("ssm.inner_size", inner);
}

void mamba2_sizes(Converter& w, std::int64_t heads, std::int64_t inner) {
  w.set("ssm.conv_kernel", w.c.dimension({"mamba_d_conv", "conv_kernel"}, 4));
  w.set("ssm.state_size", w.c.dimension({"mamba_d_state", "ssm_state_size"}, 128));
  w.set("ssm.group_count", w.c.dimension({"mamba_n_groups", "n_groups"}, 1));
  w.set("ssm.time_step_rank", heads);
  w.set("ssm.inner_size", inner);
}

/// DeciModel._ffn_mult_to_intermediate_size of convert_hf_to_gguf.py.
std::int64_t deci_width(double multiple, std::int64_t hidden) {
  constexpr std::int64_t kStep = 256;
  const auto width = static_cast<std::int64_t>(2.0 * multiple * static_cast<double>(hidden) / 3.0);
  return (width + kStep - 1) / kStep * kStep;
}

}  // namespace

/// Nemotron's pruned Llamas name every block's attention and feed-forward.
void convert_deci(Converter& w) {
  const std::int64_t heads = w.c.dimension("num_attention_heads");
  std::vector<std::int64_t> queries, keys, widths;
  for (const Config& block : w.c.objects("block_configs")) {
    const Config attention = block.object("attention"), ffn = block.object("ffn");
    const auto group = attention.optional_dimension("n_heads_in_group");
    const bool linear = attention.boolean("replace_with_linear", false);
    queries.push_back(group || linear ? heads : 0);
    keys.push_back(group ? heads / *group : 0);
    const auto multiple = ffn.optional_number("ffn_mult");
    if (multiple && !(*multiple > 0 && *multiple < 1000))
      return w.c.fail("block_configs", "has a ffn_mult that is not from 0 to 1000");
    widths.push_back(multiple ? deci_width(*multiple, w.c.dimension("hidden_size")) : 0);
  }
  w.set_array("attention.head_count", std::move(queries));
  w.set_array("attention.head_count_kv", std::move(keys));
  w.set_array("feed_forward_length", std::move(widths));
}

void convert_delta_net(Converter& w) {
  const std::int64_t values = w.c.dimension("linear_num_value_heads", 32);
  const std::int64_t drafts = w.c.count("mtp_num_hidden_layers", 0);
  w.set("block_count", w.c.layers("num_hidden_layers") + drafts);
  if (drafts > 0) w.set("nextn_predict_layers", drafts);
  w.set("ssm.conv_kernel", w.c.dimension("linear_conv_kernel_dim", 4));
  w.set("ssm.state_size", w.c.dimension("linear_key_head_dim", 128));
  w.set("ssm.group_count", w.c.dimension("linear_num_key_heads", 16));
  w.set("ssm.time_step_rank", values);
  w.set("ssm.inner_size", w.c.dimension("linear_value_head_dim", 128) * values);
  w.set("full_attention_interval", w.c.dimension("full_attention_interval", 4));
  w.otherwise("attention.key_length", 256);
  w.otherwise("attention.value_length", 256);
  w.partial_rotation(0.25);
  w.copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

void convert_mamba(Converter& w) {
  state_space(w);
  const std::int64_t width = w.c.dimension({"hidden_size", "d_model"});
  const bool derived = w.c.json("time_step_rank") == "\"auto\"" || w.c.is_null("time_step_rank");
  w.set("ssm.state_size", w.c.dimension({"state_size", "d_state"}, 16));
  w.set("ssm.time_step_rank", derived ? (width + 15) / 16 : w.c.dimension("time_step_rank"));
}

/// Norms without weights on what depends on the input.
void convert_falcon_mamba(Converter& w) {
  convert_mamba(w);
  w.set("ssm.dt_b_c_rms", 1);
}

void convert_mamba2(Converter& w) {
  state_space(w);
  const std::int64_t head = w.c.dimension({"head_dim", "headdim"}, 64);
  const std::int64_t inner = w.c.dimension("expand", 2) * w.c.dimension({"hidden_size", "d_model"});
  w.set("ssm.state_size", w.c.dimension({"state_size", "d_state"}, 128));
  w.set("ssm.group_count", w.c.dimension({"n_groups", "ngroups"}, 1));
  w.set("ssm.inner_size", inner);
  w.set("ssm.time_step_rank", inner / head);
}

void convert_jamba(Converter& w) {
  const std::int64_t width = w.c.dimension("hidden_size");
  const std::int64_t period = w.c.dimension("attn_layer_period", 8);
  const std::int64_t offset = w.c.count("attn_layer_offset", 4);
  std::vector<std::int64_t> heads;
  for (std::int64_t il = 0; il < w.c.layers("num_hidden_layers"); ++il)
    heads.push_back(il % period == offset ? w.c.dimension("num_key_value_heads") : 0);
  w.set_array("attention.head_count_kv", std::move(heads));
  if (w.c.count("num_experts", 0) < 2) w.set("expert_count", 0);
  w.set("ssm.conv_kernel", w.c.dimension("mamba_d_conv", 4));
  w.set("ssm.inner_size", w.c.dimension("mamba_expand", 2) * width);
  w.set("ssm.state_size", w.c.dimension("mamba_d_state", 16));
  const bool derived = w.c.json("mamba_dt_rank") == "\"auto\"" || w.c.is_null("mamba_dt_rank");
  w.set("ssm.time_step_rank", derived ? (width + 15) / 16 : w.c.dimension("mamba_dt_rank"));
}

void convert_falcon_h1(Converter& w) {
  const std::int64_t heads = w.c.dimension("mamba_n_heads");
  const std::int64_t inner =
      w.c.optional_dimension("mamba_d_ssm")
          .value_or(w.c.dimension("mamba_expand", 2) * w.c.dimension("hidden_size"));
  mamba2_sizes(w, heads, inner);
  w.out.choices.extra = w.c.boolean("mamba_rms_norm", false);
}

void convert_granite_hybrid(Converter& w) {
  const std::int64_t heads = w.c.dimension("mamba_n_heads");
  w.kv_heads_by_type({"layer_types", "layers_block_type"}, "attention");
  mamba2_sizes(w, heads, w.c.dimension("mamba_expand", 2) * w.c.dimension("hidden_size"));
  w.copy_real("residual_scale", "residual_multiplier");
  w.copy_real("embedding_scale", "embedding_multiplier");
  w.copy_real("logit_scale", "logits_scaling");
  const bool rotates =
      !w.c.has("position_embedding_type") || w.c.optional_text("position_embedding_type") == "rope";
  w.set("rope.scaling.finetuned", rotates ? 1 : 0);
  const std::int64_t shared = w.c.count("shared_intermediate_size", 0);
  if (w.c.count("num_local_experts", 0) > 0)
    w.set("expert_shared_feed_forward_length", shared);
  else if (shared > 0)
    w.set("feed_forward_length", shared);
}

void convert_nemotron_h(Converter& w) {
  std::vector<std::int64_t> heads, widths;
  for (const char kind : layer_letters(w.c)) {
    heads.push_back(kind == '*' ? w.c.dimension("num_key_value_heads") : 0);
    widths.push_back(kind == '-'   ? w.c.dimension("intermediate_size")
                     : kind == 'E' ? w.c.dimension("moe_intermediate_size")
                                   : 0);
  }
  w.set_array("attention.head_count_kv", std::move(heads));
  w.set_array("feed_forward_length", std::move(widths));
  const std::int64_t count = w.c.dimension("mamba_num_heads");
  mamba2_sizes(w, count, count * w.c.dimension("mamba_head_dim"));
  w.copy("attention.key_length", {"head_dim", "attention_head_dim"});
  w.copy("attention.value_length", {"head_dim", "attention_head_dim"});
  w.copy("expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size");
  w.copy("moe_latent_size", "moe_latent_size");
  w.copy_real("expert_weights_scale", "routed_scaling_factor");
  w.set("expert_weights_norm", w.c.boolean("norm_topk_prob", true) ? 1 : 0);
}

/// The width that the block's own rule gives (Lfm2MLP).
std::int64_t lfm2_width(const Config& c) {
  std::int64_t width = c.dimension({"block_ff_dim", "intermediate_size"});
  if (!c.boolean("block_auto_adjust_ff_dim", false)) return width;
  width = 2 * width / 3;
  if (const auto by = c.optional_number("block_ffn_dim_multiplier"))
    width = static_cast<std::int64_t>(*by * static_cast<double>(width));
  const std::int64_t multiple = c.dimension("block_multiple_of", 256);
  return (width + multiple - 1) / multiple * multiple;
}

void convert_lfm2(Converter& w) {
  w.kv_heads_by_type("layer_types", "full_attention");
  w.set("shortconv.l_cache", w.c.dimension("conv_L_cache", 3));
  if (w.c.count("num_experts", 0) == 0) return w.set("feed_forward_length", lfm2_width(w.c));
  w.set("leading_dense_block_count", w.c.count("num_dense_layers", 0));
  w.set("expert_gating_func", 2);
}

void convert_llama4(Converter& w) {
  w.copy("feed_forward_length", "intermediate_size_mlp");
  w.copy("expert_feed_forward_length", "intermediate_size");
  w.set("interleave_moe_layer_step", w.c.dimension("interleave_moe_layer_step", 1));
}

void convert_gemma3n(Converter& w) {
  w.copy("vocab_size", "vocab_size_per_layer_input");
  w.copy("attention.sliding_window", "sliding_window");
}

void convert_gemma4(Converter& w) {
  const Config& c = w.c;
  const std::int64_t layers = c.layers("num_hidden_layers");
  const std::int64_t shared = c.count("num_kv_shared_layers", 0),
                     width = c.dimension("intermediate_size");
  const bool wide = c.boolean("use_double_wide_mlp", false);
  const std::int64_t kv = c.dimension("num_key_value_heads");
  std::vector<std::int64_t> windows, heads, widths;
  for (const std::string& type : c.texts("layer_types")) {
    const auto il = static_cast<std::int64_t>(windows.size());
    const bool full = type == "full_attention";
    windows.push_back(full ? 0 : 1);
    heads.push_back(full ? c.optional_dimension("num_global_key_value_heads").value_or(kv) : kv);
    widths.push_back(wide && il >= layers - shared ? 2 * width : width);
  }
  w.set_array("attention.sliding_window_pattern", std::move(windows));
  w.set_array("attention.head_count_kv", std::move(heads));
  w.set_array("feed_forward_length", std::move(widths));
  w.copy("attention.sliding_window", "sliding_window");
  w.set("attention.shared_kv_layers", shared);
  w.set("embedding_length_per_layer_input", c.count("hidden_size_per_layer_input", 0));
  const std::int64_t head = c.dimension("head_dim", 256),
                     global = c.dimension("global_head_dim", 512);
  for (const char* of : {"key", "value"}) {
    w.set(std::string("attention.") + of + "_length", global);
    w.set(std::string("attention.") + of + "_length_swa", head);
  }
  if (!c.boolean("enable_moe_block", false)) w.set("expert_count", 0);
  w.copy("expert_used_count", "top_k_experts");
  w.copy_real("final_logit_softcapping", "final_logit_softcapping");
  w.out.choices.extra = c.boolean("attention_k_eq_v", false);
}

}  // namespace memtape::llamacpp
