// SPDX-License-Identifier: Apache-2.0
// GLM 5: DeepSeek-V3.2 in which some layers take the tokens that the layer before them chose;
// mirroring transformers 5.17 models/glm_moe_dsa/modular_glm_moe_dsa.py.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/parts/sparse_attention.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

struct GlmMoeDsaConfig : SparseAttentionConfig {
  GlmMoeDsaConfig(const Config& c, const ModelOptions& options)
      : SparseAttentionConfig(
            c, options,
            {.vocab_size = 154880,
             .hidden_size = 6144,
             .intermediate_size = 12288,
             .num_hidden_layers = 78,
             .num_attention_heads = 64,
             .num_key_value_heads = 64},
            {.experts_key = {"num_experts", "n_routed_experts", "num_local_experts"},
             .num_experts = 256,
             .num_experts_per_tok = 8,
             .intermediate_size = 2048}) {
    if (!c.has("q_lora_rank")) q_lora_rank = 2048;
    qk_nope_head_dim = c.dimension("qk_nope_head_dim", 192);
    v_head_dim = c.dimension("v_head_dim", 256);
    index_n_heads = c.dimension("index_n_heads", 32);
    index_rotates_pairs = ghost::has(changes::kGlmIndexerRotatesPairs);
    read_groups_of_two_best(c, 1, 1);
    read_indexer_types(c);
  }
  std::vector<bool> has_indexer;  ///< one per layer

 private:
  /// indexer_types, or a pattern of F and S, or one layer in index_topk_freq.
  void read_indexer_types(const Config& c) {
    const std::vector<std::string> types = c.texts("indexer_types");
    const std::string pattern =
        c.is_null("index_topk_pattern") ? std::string() : c.text("index_topk_pattern");
    const std::int64_t freq = std::max<std::int64_t>(c.count("index_topk_freq", 1), 1);
    const std::int64_t offset = c.integer("index_skip_topk_offset", 2);
    const std::size_t named = types.empty() ? pattern.size() : types.size();
    for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (named == 0)
        has_indexer.push_back(std::max<std::int64_t>(i - offset + 1, 0) % freq == 0);
      else
        has_indexer.push_back(at < named &&
                              (types.empty() ? pattern[at] == 'F' : types[at] == "full"));
    }
    const char* key = types.empty() ? "index_topk_pattern" : "indexer_types";
    if (named > 0 && named < has_indexer.size())
      c.fail(key, "must name " + std::to_string(num_hidden_layers) + " layers, names " +
                      std::to_string(named));
    if (!has_indexer.front()) c.fail(key, "must give the first layer an indexer");
  }
};

class GlmMoeDsaDecoderLayer : public nn::GradientCheckpointingLayer<GlmMoeDsaDecoderLayer> {
 public:
  GlmMoeDsaDecoderLayer(const nn::Scope& scope, const GlmMoeDsaConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, c.has_indexer[static_cast<std::size_t>(layer)]),
        mlp_(scope / "mlp", c, layer),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {}

  /// Hidden states and the tokens chosen.
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& attention_mask,
                                    const CosSin& position_embeddings, const Tensor&,
                                    const Tensor& prev_topk_indices) {
    Tensor residual = x, topk_indices = prev_topk_indices;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings, topk_indices);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return {residual.add(hidden_states), std::move(topk_indices)};
  }

 private:
  SparseAttention self_attn_;
  MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>> mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
};

class GlmMoeDsaModel : public nn::Module<GlmMoeDsaModel> {
 public:
  GlmMoeDsaModel(const nn::Scope& scope, const GlmMoeDsaConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c.rope) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds, changes::kPositionsAreAdded);
    const LayerMasks masks =
        create_sparse_attention_mask(config_, attention_mask, inputs_embeds, position_ids);
    Tensor hidden_states = inputs_embeds, topk_indices;
    const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    for (GlmMoeDsaDecoderLayer& decoder_layer : layers_)
      std::tie(hidden_states, topk_indices) = decoder_layer(
          hidden_states, masks.full_attention, position_embeddings, position_ids, topk_indices);
    return norm_(hidden_states);
  }

  nn::Embedding embed_tokens;

 private:
  GlmMoeDsaConfig config_;
  nn::ModuleList<GlmMoeDsaDecoderLayer> layers_;
  LlamaRMSNorm norm_;
  RotaryEmbedding rotary_emb_;
};

struct GlmMoeDsaParts : MoeParts {
  using Settings = GlmMoeDsaConfig;
};

ModelPointer build_glm_moe_dsa(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<GlmMoeDsaParts, GlmMoeDsaModel>>(
      c, GlmMoeDsaConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGlmMoeDsa{.model_type = "glm_moe_dsa",
                                    .first = {5, 2, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_glm_moe_dsa};

}  // namespace memtape::family
