// SPDX-License-Identifier: Apache-2.0
// Converter: writes the GGUF keys of an architecture from the keys of a Hugging Face configuration,
// with those that a family writes in addition to the common keys or instead of them
// (convert_hf_to_gguf.py and conversion/*.py of llama.cpp).
#pragma once

#include "framework/llamacpp/hf_conversion.h"

namespace memtape::llamacpp {

/// Writes the keys of an architecture from those of a configuration.
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
  void set_array(std::string_view key, std::vector<std::int64_t> values) {
    MetaValue& v = out.metadata.values[prefix_ + std::string(key)];
    v.length = static_cast<std::int64_t>(values.size());
    v.integers = std::move(values);
  }
  void copy(std::string_view key, Keys from) {
    if (const auto value = c.optional_integer(from)) set(key, *value);
  }
  void copy_real(std::string_view key, Keys from) {
    if (const auto value = c.optional_number(from)) set_real(key, *value);
  }

  /// Writes the keys that all text models have.
  void common() {
    set("vocab_size", c.dimension("vocab_size"));
    copy("context_length", {"max_position_embeddings", "n_ctx", "n_positions", "model_max_length"});
    copy("context_length", {"max_seq_len", "seq_length"});
    set("embedding_length", c.dimension({"hidden_size", "n_embd", "d_model"}));
    set("block_count", c.layers({"num_hidden_layers", "n_layers", "n_layer", "num_layers"}));
    widths();
    copy("attention.head_count", {"num_attention_heads", "n_head", "n_heads"});
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

  /// Writes the widths of feed-forwards: one for all layers, or one for each.
  void widths() {
    if (c.json("intermediate_size").starts_with('['))
      set_array("feed_forward_length", c.integers("intermediate_size"));
    else
      copy("feed_forward_length", {"intermediate_size", "n_inner"});
  }

  /// Writes the value of `attention` for layers of that type and 0 for others. If the file names no
  /// types, it writes no array.
  void kv_heads_by_type(Keys types, std::string_view attention) {
    std::vector<std::int64_t> heads;
    for (const std::string& type : c.texts(types))
      heads.push_back(type == attention ? c.dimension("num_key_value_heads") : 0);
    if (!heads.empty()) set_array("attention.head_count_kv", std::move(heads));
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

/// These families have layers of more than one kind (hf_hybrids.cpp).
void convert_deci(Converter& w);
void convert_delta_net(Converter& w);
void convert_gemma3n(Converter& w);
void convert_gemma4(Converter& w);
void convert_granite_hybrid(Converter& w);
void convert_falcon_h1(Converter& w);
void convert_falcon_mamba(Converter& w);
void convert_jamba(Converter& w);
void convert_lfm2(Converter& w);
void convert_llama4(Converter& w);
void convert_mamba(Converter& w);
void convert_mamba2(Converter& w);
void convert_nemotron_h(Converter& w);

/// These are older families, and encoders (hf_classics.cpp).
void convert_bert(Converter& w);
void convert_bloom(Converter& w);
void convert_dbrx(Converter& w);
void convert_falcon(Converter& w);
void convert_gpt2(Converter& w);
void convert_gpt_bigcode(Converter& w);
void convert_mpt(Converter& w);
void convert_neox(Converter& w);
void convert_olmo(Converter& w);
void convert_phi(Converter& w);
void convert_stablelm(Converter& w);
void convert_nemotron(Converter& w);

}  // namespace memtape::llamacpp
