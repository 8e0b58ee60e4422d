// SPDX-License-Identifier: Apache-2.0
// Dots 3 Note on text, alone and with its towers: latent attention with scaled latents, a norm on the one rotated key and a gate
// for each head; layers see what an indexer chose, or slide with sizes of their own. Mirroring
// transformers 5.24 models/dots3_note/modular_dots3_note.py.
#include <string>
#include <tuple>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/parts/dots3_towers.h"
#include "family/parts/sparse_attention.h"
#include "family/parts/text_before_towers.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct Dots3Config : SparseAttentionConfig {
  Dots3Config(const Config& c, const ModelOptions& options)
      : SparseAttentionConfig(c, options,
                              {.vocab_size = 152064,
                               .hidden_size = 5120,
                               .intermediate_size = 13824,
                               .num_hidden_layers = 46,
                               .num_attention_heads = 128,
                               .num_key_value_heads = 128},
                              {.experts_key = {"n_routed_experts", "num_local_experts"},
                               .num_experts = 256,
                               .num_experts_per_tok = 8,
                               .intermediate_size = 1536}) {
    if (!c.has("q_lora_rank")) q_lora_rank = 1024;
    first_k_dense_replace = c.count("first_k_dense_replace", 1);
    shared_expert_size = c.dimension(
        {"moe_shared_expert_intermediate_size", "shared_experts_intermediate_size"}, 1536);
    index_rotates_pairs = true;
    sliding_window = c.dimension({"sliding_window", "sliding_window_size"}, 512);
    read_groups_of_two_best(c, 1, 1);
    read_types(c);
    rope = rope_of(c, is_indexed ? "indexed_attention" : "full_attention", qk_rope_head_dim);
    rope.keeps_float32 = is_indexed;
  }

  /// The settings of one layer: those that slide have heads and ranks of their own.
  SparseAttentionConfig of_layer(std::int64_t layer) const {
    SparseAttentionConfig own = *this;
    if (layer_type(layer) == LayerType::full_attention) return own;
    own.num_attention_heads = own.num_key_value_heads = sliding.heads;
    own.q_lora_rank = sliding.q_lora_rank;
    own.kv_lora_rank = sliding.kv_lora_rank;
    own.qk_nope_head_dim = sliding.qk_nope_head_dim;
    own.qk_rope_head_dim = sliding.qk_rope_head_dim;
    own.v_head_dim = sliding.v_head_dim;
    return own;
  }
  bool has_indexer(std::int64_t layer) const {
    return is_indexed && layer_type(layer) == LayerType::full_attention;
  }
  bool has_full_layers() const {
    for (const LayerType type : layer_types)
      if (type == LayerType::full_attention) return true;
    return false;
  }

  bool is_indexed = true;  ///< layers that do not slide see what an indexer chose
  struct Sliding {
    std::int64_t heads, q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  } sliding{};
  RopeParameters sliding_rope;

 private:
  static RopeParameters rope_of(const Config& c, const char* type, std::int64_t dim) {
    return layer_type_rope(c.object("rope_parameters").object(type), dim, RopeType::standard, 1.0);
  }
  /// What a file says by layer, as transformers writes it, or under names that begin with "swa_".
  void read_types(const Config& c) {
    const std::vector<std::string> named = c.texts("layer_types");
    const bool by_layer = c.has("per_layer_config");
    const bool use_dsa = c.boolean("use_dsa", true);
    const bool slides = c.boolean("use_sliding_window", true);
    bool names_full = false, names_indexed = false;
    for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool is_default_full = !slides || i < 2 || i % 4 == 1;
      const std::string name = at < named.size() ? named[at]
                               : is_default_full ? "indexed_attention"
                                                 : "sliding_attention";
      names_full = names_full || name == "full_attention";
      names_indexed = names_indexed || name == "indexed_attention";
      layer_types[at] =
          name == "sliding_attention" ? LayerType::sliding_attention : LayerType::full_attention;
    }
    if (!named.empty() && named.size() != layer_types.size())
      c.fail("layer_types", "must name " + std::to_string(num_hidden_layers) + " layers, names " +
                                std::to_string(named.size()));
    if (by_layer && names_full && names_indexed)
      c.fail("layer_types", "full_attention beside indexed_attention is not modelled");
    is_indexed = by_layer && c.is_null("use_dsa") ? names_indexed : use_dsa;
    read_sliding(c);
  }
  void read_sliding(const Config& c) {
    std::int64_t first = 0;
    while (first < num_hidden_layers && layer_type(first) != LayerType::sliding_attention) ++first;
    const Config own = c.object("per_layer_config").object(std::to_string(first));
    const auto size = [&](const char* name, std::int64_t otherwise) {
      return own.dimension(name, c.dimension(std::string("swa_") + name, otherwise));
    };
    sliding.heads = size("num_attention_heads", 64);
    sliding.q_lora_rank = size("q_lora_rank", 1024);
    sliding.kv_lora_rank = size("kv_lora_rank", 1024);
    sliding.qk_nope_head_dim = size("qk_nope_head_dim", 192);
    sliding.qk_rope_head_dim =
        size("qk_rope_head_dim", size("head_dim", 256) - sliding.qk_nope_head_dim);
    sliding.v_head_dim = size("v_head_dim", 128);
    sliding_rope = rope_of(c, "sliding_attention", sliding.qk_rope_head_dim);
  }
};

class Dots3Attention : public nn::Module<Dots3Attention> {
 public:
  Dots3Attention(const nn::Scope& scope, const Dots3Config& c, std::int64_t layer)
      : Dots3Attention(scope, c.of_layer(layer), c.has_indexer(layer)) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& given_mask,
                 const CosSin& position_embeddings) {
    const std::int64_t batch_size = hidden_states.size(0), seq_length = hidden_states.size(1);
    Tensor q_resid = latent_.query_latent(hidden_states);
    q_resid = q_resid.mul(2.0);
    LatentStates states = latent_.split(latent_.expand_queries(q_resid), hidden_states);
    states.kv_nope = latent_.norm_latent(states.kv_nope.contiguous());
    states.kv_nope = states.kv_nope.mul(2.0);
    states.k_rot = states.k_rot.view({batch_size, 1, seq_length, states.k_rot.size(-1)});
    states.k_rot = k_rope_only_layernorm_(states.k_rot);
    rotate(states.q_rot, states.k_rot, position_embeddings);
    KeyValueCache::update(states.kv_nope, states.k_rot);

    const Tensor query_states = ghost::cat({states.q_pass, states.q_rot}, -1);
    const auto [key_states, value_states] = latent_.expand_kv(states.kv_nope, states.k_rot);
    Tensor attention_mask = given_mask, topk_indices;
    ChosenMask chosen;
    if (indexer_) {
      topk_indices =
          (*indexer_)(hidden_states, q_resid, position_embeddings, attention_mask.select(1, 0));
      chosen = mask_of_choice(topk_indices, attention_mask, hidden_states, key_states.size(-2));
      attention_mask = chosen.attention_mask;
    }
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    const Tensor gate = g_proj_(hidden_states).view({batch_size, seq_length, -1, 1});
    attn_output = attn_output.mul(ghost::sigmoid(gate));
    attn_output = attn_output.reshape({batch_size, seq_length, -1});
    return latent_.project_output(attn_output);
  }

 private:
  Dots3Attention(const nn::Scope& scope, const SparseAttentionConfig& c, bool has_indexer)
      : Module(scope),
        call_(attention_call(c)),
        latent_(scope, c),
        k_rope_only_layernorm_(scope / "k_rope_only_layernorm", c.qk_rope_head_dim),
        g_proj_(scope / "g_proj", c.hidden_size, c.num_attention_heads, false) {
    if (has_indexer) indexer_.emplace(scope / "indexer", c);
  }

  /// Back in the dtypes that both had: cos and sin may be in float32.
  static void rotate(Tensor& q_rot, Tensor& k_rot, const CosSin& position_embeddings) {
    const DType q_dtype = q_rot.dtype(), k_dtype = k_rot.dtype();
    std::tie(q_rot, k_rot) = apply_rotary_pos_emb_interleave(q_rot, k_rot, position_embeddings);
    Tensor q = q_rot.to(q_dtype), k = k_rot.to(k_dtype);
    q_rot = std::move(q);
    k_rot = std::move(k);
  }

  AttentionCall call_;
  LatentProjections latent_;
  LlamaRMSNorm k_rope_only_layernorm_;
  nn::Linear g_proj_;
  std::optional<Indexer> indexer_;
};

/// cos and sin for each type in use; those that indexers see, too, in float32.
class Dots3RotaryEmbedding : public nn::Module<Dots3RotaryEmbedding> {
 public:
  Dots3RotaryEmbedding(const nn::Scope& scope, const Dots3Config& c)
      : Module(scope), is_indexed_(c.is_indexed) {
    if (c.has_full_layers())
      full_.emplace(scope, c.rope, c.is_indexed ? "indexed_attention_" : "full_attention_");
    if (c.has_sliding_layers()) sliding_.emplace(scope, c.sliding_rope, "sliding_attention_");
  }
  LayerCosSin forward(const Tensor& x, const Tensor& position_ids) {
    LayerCosSin all;
    if (full_)
      all.full_attention =
          is_indexed_ ? (*full_)(x.to_float(), position_ids) : (*full_)(x, position_ids);
    if (sliding_) all.sliding_attention = (*sliding_)(x, position_ids);
    return all;
  }
  void init_weights(const Dots3Config& c) const {
    const ghost::ScopeGuard guard(node().scope);
    Tensor inv_freq;
    if (full_) inv_freq = compute_inv_freq(c.rope);
    if (sliding_) inv_freq = compute_inv_freq(c.sliding_rope);
  }

 private:
  bool is_indexed_;
  std::optional<RotaryEmbedding> full_, sliding_;
};

class Dots3TextModel : public nn::Module<Dots3TextModel> {
 public:
  Dots3TextModel(const nn::Scope& scope, const Dots3Config& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c) {
    rotary_emb_.init_weights(c);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const LayerCosSin position_embeddings = rotary_emb_(inputs_embeds, position_ids);
    const LayerMasks masks = make_masks(attention_mask, inputs_embeds, position_ids);
    Tensor hidden_states = inputs_embeds;
    std::int64_t layer = 0;
    for (auto& decoder_layer : layers_) {
      const LayerType type = config_.layer_type(layer++);
      hidden_states = decoder_layer(hidden_states, masks.of(type),
                                    of_layer(position_embeddings, type), position_ids);
    }
    hidden_states = norm_(hidden_states);
    return hidden_states;
  }

  nn::Embedding embed_tokens;

 private:
  LayerMasks make_masks(const Tensor& attention_mask, const Tensor& inputs_embeds,
                        const Tensor& position_ids) const {
    MaskRequest request{.attention = config_.attention,
                        .attention_mask = attention_mask,
                        .sliding_window = *config_.sliding_window,
                        .allow_is_causal_skip = !config_.is_indexed};
    LayerMasks masks;
    if (config_.has_full_layers())
      masks.full_attention = create_causal_mask(request, inputs_embeds, position_ids);
    request.allow_is_causal_skip = true;
    if (config_.has_sliding_layers())
      masks.sliding_attention =
          create_sliding_window_causal_mask(request, inputs_embeds, position_ids);
    return masks;
  }

  using Layer =
      PreNormDecoderLayer<Dots3Attention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  Dots3Config config_;
  nn::ModuleList<Layer> layers_;
  LlamaRMSNorm norm_;
  Dots3RotaryEmbedding rotary_emb_;
};

struct Dots3Parts : MoeParts {
  using Settings = Dots3Config;
};

ModelPointer build_dots3_note_text(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Dots3Parts, Dots3TextModel>>(c, Dots3Config(c, options),
                                                                       options);
}

/// Published files have the text's settings beside those of the towers.
ModelPointer build_dots3_note(const Config& c, const ModelOptions& options) {
  const Dots3Config text(c.is_null("text_config") ? c : c.object("text_config"), options);
  return build_text_before_towers<Dots3Parts, Dots3TextModel, Dots3Towers>(
      c, text, Dots3TowersConfig(c, text.hidden_size), false, options);
}

std::string leaves_indexer_cache_out(const Config&, const Release&) {
  return "the keys that Dots 3 Note's indexers keep in a cache while it trains without "
         "checkpointing are left out: 256 bytes a token and layer of the published size";
}

}  // namespace

extern const FamilyFacts kDots3NoteText{.model_type = "dots3_note_text",
                                        .first = {5, 23, 0},
                                        .ties_head = Known::no,
                                        .has_bos = Known::yes,
                                        .modeling = kDecoder,
                                        .build = build_dots3_note_text};

extern const FamilyFacts kDots3Note{.model_type = "dots3_note",
                                    .task = Task::image_text_to_text,
                                    .first = {5, 23, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .taken_otherwise = leaves_indexer_cache_out,
                                    .build = build_dots3_note};

}  // namespace memtape::family
