// SPDX-License-Identifier: Apache-2.0
#include "plan/model_facts.h"

#include <algorithm>
#include <set>

#include "framework/torch/built_parameters.h"

namespace memtape::plan {
namespace {

/// Each parameter once: a tied head is the embedding.
Result<std::int64_t> count_parameters(const Config& config, const TrainRecipe& recipe,
                                      const Config& text) {
  const auto built = torch::built_parameters(config, recipe);
  if (!built) return tl::unexpected(built.error());
  const bool ties =
      text.boolean("tie_word_embeddings", config.boolean("tie_word_embeddings", false));
  std::int64_t total = 0;
  for (const torch::BuiltParameter& parameter : *built) {
    if (ties && parameter.name == "lm_head.weight") continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : parameter.shape) elements *= size;
    total += elements;
  }
  return total;
}

void read_experts(const Config& c, ModelFacts& facts) {
  facts.experts = c.has("n_routed_experts")    ? c.count("n_routed_experts", 0)
                  : c.has("num_local_experts") ? c.count("num_local_experts", 0)
                                               : c.count("num_experts", 0);
  if (facts.experts == 0) return;
  facts.experts_per_token = c.count({"num_experts_per_tok", "moe_topk", "top_k_experts"}, 2);
  facts.expert_ffn = c.count({"moe_intermediate_size", "expert_ffn_hidden_size"}, facts.ffn);
  const std::int64_t dense = c.count("first_k_dense_replace", 0);
  const std::int64_t every = std::max<std::int64_t>(1, c.count("decoder_sparse_step", 1));
  facts.expert_layers = std::max<std::int64_t>(0, facts.layers - dense) / every;
}

}  // namespace

Result<ModelFacts> model_facts(const Config& config, const TrainRecipe& recipe) {
  const Config c = config.has("text_config") ? config.object("text_config") : config;
  ModelFacts facts;
  facts.family = config.text("model_type", "");
  facts.layers = c.layers({"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, 1);
  facts.hidden = c.dimension({"hidden_size", "n_embd", "d_model"}, 1);
  facts.heads = c.dimension({"num_attention_heads", "n_head", "n_heads", "num_heads"}, 1);
  facts.kv_heads = c.dimension("num_key_value_heads", facts.heads);
  facts.head_dim = c.dimension("head_dim", std::max<std::int64_t>(1, facts.hidden / facts.heads));
  facts.ffn = c.dimension({"intermediate_size", "n_inner", "ffn_dim", "d_ff"}, 4 * facts.hidden);
  facts.vocab = c.dimension("vocab_size", 1);
  read_experts(c, facts);
  const auto parameters = count_parameters(config, recipe, c);
  if (!parameters) return tl::unexpected(parameters.error());
  facts.parameters = *parameters;
  return facts;
}

}  // namespace memtape::plan
