// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/architectures.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "family/parts/config_checks.h"
#include "model/type_of.h"

namespace memtape::litgpt {
namespace {

/// What every entry of litgpt's list says in its own words.
void read_sizes(const Config& c, GptConfig& g) {
  g.block_size = c.dimension({"max_position_embeddings", "n_positions"}, 2048);
  g.n_layer = c.layers({"num_hidden_layers", "n_layer"});
  g.n_embd = c.dimension({"hidden_size", "n_embd"});
  g.padded_vocab_size = c.dimension("vocab_size");
  g.n_head = c.dimension({"num_attention_heads", "n_head"});
  g.n_query_groups = c.optional_dimension("num_key_value_heads").value_or(g.n_head);
  family::check_divides(c, "num_key_value_heads", g.n_query_groups, g.n_head);
  g.head_size =
      c.optional_dimension("head_dim").value_or(std::max<std::int64_t>(1, g.n_embd / g.n_head));
  g.intermediate_size = c.optional_dimension("intermediate_size").value_or(4 * g.n_embd);
}

void rotate(const Config& c, GptConfig& g, const char* key, double otherwise) {
  const double part = c.number(key, otherwise);
  g.rope_n_elem = static_cast<std::int64_t>(part * static_cast<double>(g.head_size));
}

/// Llama and those built like it.
void read_llama(const Config&, GptConfig& g) {
  g.rope_n_elem = g.head_size;
  g.norm_class = NormClass::rms_norm;
  g.mlp_class = MlpClass::llama;
  g.parallel_residual = g.bias = false;
}

/// litgpt holds the context of Mistral to its window, and masks every layer by it.
void read_mistral(const Config& c, GptConfig& g) {
  read_llama(c, g);
  const auto window = c.optional_dimension("sliding_window");
  if (!window) return;
  g.block_size = std::min(g.block_size, *window);
  g.slides.assign(static_cast<std::size_t>(g.n_layer), true);
}

void read_phi3(const Config& c, GptConfig& g) {
  read_llama(c, g);
  if (c.optional_dimension("sliding_window"))
    g.slides.assign(static_cast<std::size_t>(g.n_layer), true);
}

void read_qwen2(const Config& c, GptConfig& g) {
  read_llama(c, g);
  g.attn_bias = true;
}

void read_qwen3(const Config& c, GptConfig& g) {
  read_llama(c, g);
  g.norm_qk = QkNorm::per_head;
}

void read_olmo2(const Config& c, GptConfig& g) {
  read_llama(c, g);
  g.norm_qk = QkNorm::whole;
  g.norm_1 = g.norm_2 = false;
  g.post_attention_norm = g.post_mlp_norm = true;
}

void read_gemma(const Config& c, GptConfig& g) {
  read_llama(c, g);
  g.mlp_class = MlpClass::gemma;
  g.scale_embeddings = g.norm_adds_one = true;
}

void read_gemma2(const Config& c, GptConfig& g) {
  read_gemma(c, g);
  g.post_attention_norm = g.post_mlp_norm = true;
  g.attention_softcaps = g.final_softcaps = true;
  for (std::int64_t i = 0; i < g.n_layer; ++i) g.slides.push_back(i % 2 == 0);
}

void read_gpt_neox(const Config& c, GptConfig& g) {
  rotate(c, g, "rotary_pct", 0.25);
  g.parallel_residual = c.boolean("use_parallel_residual", true);
}

void read_phi(const Config& c, GptConfig& g) {
  rotate(c, g, "partial_rotary_factor", 0.5);
  g.shared_attention_norm = g.lm_head_bias = true;
}

/// Falcon 7B; its larger siblings have two norms and groups of keys.
void read_falcon(const Config& c, GptConfig& g) {
  g.rope_n_elem = g.head_size;
  g.bias = false;
  g.shared_attention_norm = !c.boolean("new_decoder_architecture", false);
  if (g.shared_attention_norm && c.boolean("multi_query", true)) g.n_query_groups = 1;
  if (!g.shared_attention_norm) g.n_query_groups = c.dimension("num_kv_heads", g.n_head);
}

struct Architecture {
  std::string_view family;
  void (*read)(const Config&, GptConfig&);
};

constexpr auto kArchitectures = std::to_array<Architecture>({{"llama", read_llama},
                                                             {"mistral", read_mistral},
                                                             {"phi3", read_phi3},
                                                             {"qwen2", read_qwen2},
                                                             {"qwen3", read_qwen3},
                                                             {"olmo2", read_olmo2},
                                                             {"gemma", read_gemma},
                                                             {"gemma2", read_gemma2},
                                                             {"gpt_neox", read_gpt_neox},
                                                             {"phi", read_phi},
                                                             {"falcon", read_falcon}});

}  // namespace

Result<GptConfig> read_gpt_config(const Config& config) {
  const std::string family = type_of(config);
  std::vector<std::string_view> known;
  for (const Architecture& architecture : kArchitectures) {
    known.push_back(architecture.family);
    if (architecture.family != family) continue;
    GptConfig read;
    read_sizes(config, read);
    architecture.read(config, read);
    if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
    return read;
  }
  return unsupported("\"" + family + "\" is not modelled by --framework litgpt",
                     config.where() + ": model_type", suggestion(family, known));
}

}  // namespace memtape::litgpt
