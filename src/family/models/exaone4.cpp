// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms on the heads of q and k, norms after attention and MLP instead of before, and, in
// models with a window, no rope in the layers of full attention; K-EXAONE: the same attention under
// norms before it, and DeepSeek-V3's experts. Mirroring transformers 5.17
// models/exaone4/modular_exaone4.py and models/exaone_moe/modular_exaone_moe.py.
#include <algorithm>
#include <string>
#include <vector>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/llama_layer.h"
#include "family/parts/post_norm_layer.h"

namespace memtape::family {
namespace {

/// sliding_window_pattern: every so many layers full attention. Without a window no layer slides.
std::string pattern_of(const Config& c, const DecoderConfig& config) {
  if (!config.sliding_window || !c.is_null("layer_types")) return "G";
  const std::int64_t every = c.dimension("sliding_window_pattern", 4);
  constexpr std::int64_t kLongest = 1024;
  return std::string(static_cast<std::size_t>(std::min(every, kLongest) - 1), 'L') + "G";
}

void read_exaone4_layers(const Config& c, DecoderConfig& config) {
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
  const std::string pattern = pattern_of(c, config);
  config.layer_types = read_layer_types(c, config.num_hidden_layers,
                                        [](std::int64_t) { return LayerType::full_attention; });
  if (c.is_null("layer_types"))
    for (std::size_t i = 0; i < config.layer_types.size(); ++i)
      if (pattern[i % pattern.size()] == 'L') config.layer_types[i] = LayerType::sliding_attention;
  check_sliding_window(c, config);
  config.masks_by_layer_type = true;
}

struct Exaone4Config : DecoderConfig {
  Exaone4Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 102400, .intermediate_size = 16384}) {
    read_exaone4_layers(c, *this);
  }
};

struct ExaoneMoeConfig : DeepseekMoeConfig {
  ExaoneMoeConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(
            c, options,
            {.vocab_size = 102400, .intermediate_size = 16384, .num_key_value_heads = 32},
            {.num_experts = 64, .num_experts_per_tok = 8, .intermediate_size = 1024}),
        sparse_layers(
            read_mlp_layer_types(c, num_hidden_layers, c.count("first_k_dense_replace", 1))) {
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("num_shared_experts", 1);
    read_groups_of_two_best(c, 1, 1);
    read_exaone4_layers(c, *this);
  }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }
  std::vector<bool> sparse_layers;
};

struct Exaone4Steps {
  Exaone4Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : norms(scope, c),
        rotates(!c.sliding_window || c.layer_type(layer) == LayerType::sliding_attention) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    if (rotates) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<LlamaRMSNorm> norms;
  bool rotates;
};

struct Exaone4Parts : DecoderParts {
  using Settings = Exaone4Config;
  using DecoderLayer = PostNormDecoderLayer<AttentionOf<Exaone4Steps>, LlamaRMSNorm>;
  using Norm = LlamaRMSNorm;
};

struct ExaoneMoeParts : MoeParts {
  using Settings = ExaoneMoeConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<Exaone4Steps>,
                                           MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_exaone4(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Exaone4Parts>>(c, Exaone4Config(c, options), options);
}

ModelPointer build_exaone_moe(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<ExaoneMoeParts>>(c, ExaoneMoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kExaone4{
    .model_type = "exaone4",
    .first = {4, 54, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_exaone4};

extern const FamilyFacts kExaoneMoe{.model_type = "exaone_moe",
                                    .first = {5, 1, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_exaone_moe};

}  // namespace memtape::family
