// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/hf_config.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace memtape::llamacpp {
namespace {

/// Writes an architecture's keys from a config's.
class Converter {
 public:
  Converter(const Config& config, std::string_view arch) : c(config), prefix_(arch) {
    prefix_ += '.';
    out.metadata.where = config.where();
    set_text("general.architecture", arch);
  }

  void set(std::string_view key, std::int64_t value) {
    MetaValue& v = out.metadata.values[prefix_ + std::string(key)];
    v.integer = value;
    v.number = static_cast<double>(value);
  }
  void set_real(std::string_view key, double value) {
    out.metadata.values[prefix_ + std::string(key)].number = value;
  }
  void set_text(std::string_view key, std::string_view value) {
    out.metadata.values[std::string(key)].text = value;
  }
  void copy(std::string_view key, Keys from) {
    if (const auto value = c.optional_integer(from)) set(key, *value);
  }
  void copy_real(std::string_view key, Keys from) {
    if (const auto value = c.optional_number(from)) set_real(key, *value);
  }

  /// What all text models have.
  void common() {
    set("vocab_size", c.dimension("vocab_size"));
    copy("context_length", {"max_position_embeddings", "n_ctx", "n_positions", "model_max_length"});
    set("embedding_length", c.dimension({"hidden_size", "n_embd", "d_model"}));
    set("block_count", c.layers({"num_hidden_layers", "n_layers", "n_layer"}));
    copy("feed_forward_length", {"intermediate_size", "n_inner"});
    copy("attention.head_count", {"num_attention_heads", "n_head"});
    copy("attention.head_count_kv", "num_key_value_heads");
    copy("attention.key_length", "head_dim");
    copy("attention.value_length", "head_dim");
    copy("expert_count", {"num_local_experts", "num_experts", "n_routed_experts"});
    copy("expert_used_count", "num_experts_per_tok");
    copy("expert_feed_forward_length", "moe_intermediate_size");
    rope();
  }

  void otherwise(std::string_view key, std::int64_t value) {
    if (!out.metadata.find(prefix_ + std::string(key))) set(key, value);
  }

  void rope() {
    const Config scaling = c.object({"rope_scaling", "rope_parameters"});
    const std::string type = scaling.text({"rope_type", "type"}, "default");
    if (type == "llama3") out.choices.rope_factors = true;
    if (type == "longrope" || type == "su") {
      set_text(prefix_ + "rope.scaling.type", "longrope");
      copy("rope.scaling.original_context_length", "original_max_position_embeddings");
    }
  }

  void partial_rotation(double usual) {
    const Config rope = c.object("rope_parameters");
    const double part =
        c.optional_number("partial_rotary_factor")
            .value_or(rope.optional_number("partial_rotary_factor").value_or(usual));
    const std::int64_t head =
        c.optional_dimension("head_dim")
            .value_or(c.dimension("hidden_size") / c.dimension("num_attention_heads"));
    if (!(part >= 0 && part <= 1)) return c.fail("partial_rotary_factor", "must be from 0 to 1");
    set("rope.dimension_count", static_cast<std::int64_t>(static_cast<double>(head) * part));
  }

  const Config& c;
  Converted out;

 private:
  std::string prefix_;
};

void as_is(Converter&) {}

void windowed(Converter& w) { w.copy("attention.sliding_window", "sliding_window"); }

void gemma2(Converter& w) {
  windowed(w);
  w.otherwise("attention.sliding_window", 4096);
  w.otherwise("attention.key_length", 256);
  w.otherwise("attention.value_length", 256);
}

/// Published configs leave out what is as in Gemma3TextConfig.
void gemma3(Converter& w) {
  windowed(w);
  w.otherwise("context_length", 131072);
  w.otherwise("attention.head_count", 8);
  w.otherwise("attention.head_count_kv", 4);
  w.otherwise("attention.key_length", 256);
  w.otherwise("attention.value_length", 256);
  w.otherwise("attention.sliding_window", 4096);
  w.copy_real("final_logit_softcapping", "final_logit_softcapping");
}

void gpt_oss(Converter& w) {
  windowed(w);
  w.copy("expert_feed_forward_length", "intermediate_size");
  w.otherwise("attention.key_length", 64);
  w.otherwise("attention.value_length", 64);
}

void qwen2_moe(Converter& w) {
  w.copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

void cohere(Converter& w) {
  windowed(w);
  w.set_real("logit_scale", w.c.number("logit_scale", 0.0625));
}

void granite(Converter& w) {
  w.copy_real("residual_scale", "residual_multiplier");
  w.copy_real("embedding_scale", "embedding_multiplier");
  w.copy("expert_shared_feed_forward_length", "shared_intermediate_size");
}

void routed(Converter& w) {
  w.copy("expert_shared_count", "n_shared_experts");
  w.copy("expert_group_count", "n_group");
  w.copy("expert_group_used_count", "topk_group");
  w.copy_real("expert_weights_scale", "routed_scaling_factor");
  w.set("leading_dense_block_count", w.c.count("first_k_dense_replace", 0));
  w.set("expert_weights_norm", w.c.boolean("norm_topk_prob", false) ? 1 : 0);
}

void deepseek(Converter& w) {
  routed(w);
  const std::int64_t kv = w.c.dimension("kv_lora_rank", 512);
  const std::int64_t nope = w.c.dimension("qk_nope_head_dim", 128);
  const std::int64_t rotated = w.c.dimension("qk_rope_head_dim", 64);
  w.copy("attention.q_lora_rank", "q_lora_rank");
  w.set("attention.kv_lora_rank", kv);
  w.set("attention.head_count_kv", 1);
  w.set("attention.key_length", kv + rotated);
  w.set("attention.value_length", kv);
  w.set("attention.key_length_mla", nope + rotated);
  w.set("attention.value_length_mla", w.c.dimension("v_head_dim", 128));
  w.set("rope.dimension_count", rotated);
  const bool third = w.c.text("model_type", "") == "deepseek_v3";
  const std::string scores = w.c.text("scoring_func", third ? "sigmoid" : "softmax");
  w.set("expert_gating_func", scores == "sigmoid" ? 2 : 1);
}

void glm4_moe(Converter& w) {
  routed(w);
  const std::int64_t drafts = w.c.count("num_nextn_predict_layers", 0);
  w.set("block_count", w.c.layers("num_hidden_layers") + drafts);
  w.set("nextn_predict_layers", drafts);
  w.set("expert_gating_func", 2);
  w.partial_rotation(0.5);
}

void minimax_m2(Converter& w) {
  w.copy("expert_feed_forward_length", "intermediate_size");
  w.copy("rope.dimension_count", "rotary_dim");
  w.set("expert_gating_func", w.c.text("scoring_func", "sigmoid") == "sigmoid" ? 2 : 1);
}

void dots1(Converter& w) {
  routed(w);
  w.set("expert_gating_func", 2);
}

void ernie(Converter& w) {
  w.copy("expert_count", "moe_num_experts");
  w.copy("expert_used_count", "moe_k");
  w.copy("interleave_moe_layer_step", "moe_layer_interval");
  w.set("leading_dense_block_count", w.c.count("moe_layer_start_index", 1));
  const std::int64_t shared = w.c.count("moe_num_shared_experts", 0);
  if (shared > 0)
    w.set("expert_shared_feed_forward_length", shared * w.c.dimension("moe_intermediate_size"));
}

void qwen35(Converter& w) {
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
  qwen2_moe(w);
}

void mamba(Converter& w) {
  const std::int64_t width = w.c.dimension({"hidden_size", "d_model"});
  const std::int64_t inner = w.c.optional_dimension({"intermediate_size", "d_inner"})
                                 .value_or(w.c.dimension("expand", 2) * width);
  w.set("context_length", std::int64_t{1} << 20);
  w.set("feed_forward_length", 0);
  w.set("attention.head_count", 0);
  w.set("ssm.conv_kernel", w.c.dimension({"conv_kernel", "d_conv"}, 4));
  w.set("ssm.inner_size", inner);
}

void mamba1(Converter& w) {
  mamba(w);
  const std::int64_t width = w.c.dimension({"hidden_size", "d_model"});
  const bool derived = w.c.json("time_step_rank") == "\"auto\"" || w.c.is_null("time_step_rank");
  w.set("ssm.state_size", w.c.dimension({"state_size", "d_state"}, 16));
  w.set("ssm.time_step_rank", derived ? (width + 15) / 16 : w.c.dimension("time_step_rank"));
}

void mamba2(Converter& w) {
  mamba(w);
  const std::int64_t head = w.c.dimension({"head_dim", "headdim"}, 64);
  const std::int64_t inner = w.c.dimension("expand", 2) * w.c.dimension({"hidden_size", "d_model"});
  w.set("ssm.state_size", w.c.dimension({"state_size", "d_state"}, 128));
  w.set("ssm.group_count", w.c.dimension({"n_groups", "ngroups"}, 1));
  w.set("ssm.inner_size", inner);
  w.set("ssm.time_step_rank", inner / head);
}

/// Where a config leaves the class's default; --ctx-size is given then.
constexpr std::int64_t kUsualContext = 32768;

struct Kind {
  std::string_view model_type, arch;
  bool tied;  ///< what the config's class says where the file does not
  void (*write)(Converter&);
};

constexpr std::array kKinds{Kind{"llama", "llama", false, as_is},
                            Kind{"mistral", "llama", false, as_is},
                            Kind{"mixtral", "llama", false, as_is},
                            Kind{"qwen2", "qwen2", false, as_is},
                            Kind{"qwen2_moe", "qwen2moe", false, qwen2_moe},
                            Kind{"qwen3", "qwen3", false, as_is},
                            Kind{"qwen3_moe", "qwen3moe", false, as_is},
                            Kind{"qwen3_5", "qwen35", false, qwen35},
                            Kind{"qwen3_5_text", "qwen35", false, qwen35},
                            Kind{"qwen3_5_moe", "qwen35moe", false, qwen35},
                            Kind{"qwen3_5_moe_text", "qwen35moe", false, qwen35},
                            Kind{"phi3", "phi3", false, as_is},
                            Kind{"gemma", "gemma", true, gemma2},
                            Kind{"gemma2", "gemma2", true, gemma2},
                            Kind{"gemma3", "gemma3", true, gemma3},
                            Kind{"gemma3_text", "gemma3", true, gemma3},
                            Kind{"olmo2", "olmo2", false, as_is},
                            Kind{"olmo3", "olmo2", false, windowed},
                            Kind{"olmoe", "olmoe", false, as_is},
                            Kind{"gpt_oss", "gpt-oss", false, gpt_oss},
                            Kind{"cohere", "command-r", true, cohere},
                            Kind{"cohere2", "cohere2", true, cohere},
                            Kind{"deepseek_v2", "deepseek2", false, deepseek},
                            Kind{"deepseek_v3", "deepseek2", false, deepseek},
                            Kind{"kimi_k2", "deepseek2", false, deepseek},
                            Kind{"glm4_moe", "glm4moe", false, glm4_moe},
                            Kind{"glm4", "glm4", false, as_is},
                            Kind{"minimax_m2", "minimax-m2", false, minimax_m2},
                            Kind{"dots1", "dots1", false, dots1},
                            Kind{"ernie4_5", "ernie4_5", true, as_is},
                            Kind{"ernie4_5_moe", "ernie4_5-moe", true, ernie},
                            Kind{"seed_oss", "seed_oss", false, as_is},
                            Kind{"internlm2", "internlm2", false, as_is},
                            Kind{"granite", "granite", false, granite},
                            Kind{"granitemoe", "granitemoe", false, granite},
                            Kind{"granitemoeshared", "granitemoe", false, granite},
                            Kind{"smollm3", "smollm3", true, as_is},
                            Kind{"starcoder2", "starcoder2", true, as_is},
                            Kind{"mamba", "mamba", true, mamba1},
                            Kind{"mamba2", "mamba2", false, mamba2}};

}  // namespace

Result<Converted> convert(const Config& config) {
  const std::string type = config.text("model_type", "");
  const auto kind = std::ranges::find(kKinds, type, &Kind::model_type);
  if (kind == kKinds.end()) {
    std::array<std::string_view, kKinds.size()> names;
    std::ranges::transform(kKinds, names.begin(), &Kind::model_type);
    return unsupported("model_type \"" + type + "\" has no llama.cpp architecture that is modelled",
                       config.where(), suggestion(type, names));
  }
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  Converter writer(text, kind->arch);
  writer.common();
  kind->write(writer);
  writer.otherwise("context_length", kUsualContext);
  writer.out.choices.tied =
      text.boolean("tie_word_embeddings", config.boolean("tie_word_embeddings", kind->tied));
  if (const Result<void> read = config.check(); !read) return tl::unexpected(read.error());
  return std::move(writer.out);
}

}  // namespace memtape::llamacpp
