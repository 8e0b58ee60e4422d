// SPDX-License-Identifier: Apache-2.0
// Gemma 4: full layers with wider heads than sliding ones, values without a projection of their
// own, norms on q, k and v, experts beside the MLP, embeddings per layer, and last layers that
// reuse the keys and values of earlier ones; mirroring transformers 5.17
// models/gemma4/modeling_gemma4.py.
//
// The model of images and text takes use_cache from its outer configuration, so a training step has
// no cache. Its masks and ropes are made in the order of a Python set of two strings, which the
// hash seed of the process decides (PYTHONHASHSEED): here full attention comes first. What they
// take is the same either way.
#include <memory>
#include <optional>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder.h"
#include "family/parts/gemma4_router.h"
#include "family/parts/gemma4_vision.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

struct Gemma4TextConfig : MoeConfig {
  Gemma4TextConfig(const Config& c, const ModelOptions& options);

  bool is_sliding(std::int64_t layer) const {
    return layer_type(layer) == LayerType::sliding_attention;
  }
  std::int64_t head_dim_of(std::int64_t layer) const {
    return is_sliding(layer) ? head_dim : global_head_dim;
  }
  std::int64_t key_value_heads_of(std::int64_t layer) const {
    return is_sliding(layer) ? num_key_value_heads : global_key_value_heads;
  }
  /// is_kv_shared_layer
  bool reuses_keys(std::int64_t layer) const {
    return layer >= num_hidden_layers - num_kv_shared_layers;
  }
  bool has_keys_before(std::int64_t layer) const {
    for (std::int64_t earlier = 0; earlier < layer && !reuses_keys(earlier); ++earlier)
      if (layer_type(earlier) == layer_type(layer)) return true;
    return false;
  }
  /// store_full_length_kv: the last layer of its type that has keys of its own.
  bool stores_keys(std::int64_t layer) const {
    if (reuses_keys(layer)) return false;
    for (std::int64_t later = layer + 1; !reuses_keys(later) && later < num_hidden_layers; ++later)
      if (layer_type(later) == layer_type(layer)) return false;
    return true;
  }

  std::int64_t global_head_dim, global_key_value_heads, num_kv_shared_layers,
      hidden_size_per_layer_input, vocab_size_per_layer_input;
  bool attention_k_eq_v, enable_moe_block, use_double_wide_mlp;
  std::optional<double> final_logit_softcapping;
  LayerRopes ropes;
};

/// rope_parameters by layer type, in the order of the types' names.
LayerRopes gemma4_ropes(const Config& c, const Gemma4TextConfig& config) {
  const Config by_type = c.object("rope_parameters");
  const bool none = c.is_null("rope_parameters");
  LayerRopes ropes;
  ropes.types.push_back(
      {LayerType::full_attention,
       layer_type_rope(by_type.object("full_attention"), config.global_head_dim,
                       none ? RopeType::proportional : RopeType::standard, none ? 0.25 : 1.0)});
  if (config.has_sliding_layers())
    ropes.types.push_back(
        {LayerType::sliding_attention, layer_type_rope(by_type.object("sliding_attention"),
                                                       config.head_dim, RopeType::standard, 1.0)});
  return ropes;
}

/// A dense model says null for its experts: then nothing reads their sizes.
MoeDefaults gemma4_experts(const Config& c) {
  if (c.is_null("num_experts"))
    return {.experts_key = "none", .intermediate_key = "none", .experts_per_tok_key = "none"};
  return {.num_experts_per_tok = 1, .experts_per_tok_key = "top_k_experts"};
}

Gemma4TextConfig::Gemma4TextConfig(const Config& c, const ModelOptions& options)
    : MoeConfig(c, options,
                {.vocab_size = 262144,
                 .hidden_size = 2304,
                 .intermediate_size = 9216,
                 .num_hidden_layers = 30,
                 .num_attention_heads = 8,
                 .num_key_value_heads = 4,
                 .head_dim = 256,
                 .tie_word_embeddings = true},
                gemma4_experts(c)),
      global_head_dim(c.dimension("global_head_dim", 512)),
      num_kv_shared_layers(c.count("num_kv_shared_layers", 0)),
      hidden_size_per_layer_input(c.count("hidden_size_per_layer_input", 256)),
      vocab_size_per_layer_input(c.dimension("vocab_size_per_layer_input", 262144)),
      attention_k_eq_v(c.boolean("attention_k_eq_v", false)),
      enable_moe_block(c.boolean("enable_moe_block", false)),
      use_double_wide_mlp(c.boolean("use_double_wide_mlp", false)),
      final_logit_softcapping(c.optional_number("final_logit_softcapping")) {
  hidden_act = activation(c, "hidden_activation", "gelu_pytorch_tanh");
  qkv_bias = o_bias = c.boolean("attention_bias", false);
  sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 512;
  layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
    return (layer + 1) % 6 != 0 ? LayerType::sliding_attention : LayerType::full_attention;
  });
  layer_types.back() = LayerType::full_attention;
  masks_by_layer_type = true;
  global_key_value_heads =
      attention_k_eq_v
          ? c.optional_dimension("num_global_key_value_heads").value_or(num_key_value_heads)
          : num_key_value_heads;
  check_divides(c, "num_global_key_value_heads", global_key_value_heads, num_attention_heads);
  check_sliding_window(c, *this);
  if (c.optional_text("use_bidirectional_attention") == "all")
    c.fail("use_bidirectional_attention", "must not be \"all\" for a causal language model");
  if (num_kv_shared_layers >= num_hidden_layers)
    c.fail("num_kv_shared_layers", "must be fewer than num_hidden_layers");
  for (std::int64_t layer = 0; layer < num_hidden_layers; ++layer)
    if (reuses_keys(layer) && !has_keys_before(layer))
      c.fail("num_kv_shared_layers", "leaves a layer without keys of its type before it");
  ropes = gemma4_ropes(c, *this);
}

/// shared_kv_states: keys and values by layer type, for layers that have none of their own.
struct SharedKeysAndValues {
  std::pair<Tensor, Tensor> full_attention, sliding_attention;
  std::pair<Tensor, Tensor>& of(LayerType type) {
    return type == LayerType::full_attention ? full_attention : sliding_attention;
  }
};
using SharedStates = std::shared_ptr<SharedKeysAndValues>;

/// (x * cos) + (rotate_half(x) * sin), the heads third.
Tensor rotated(const Tensor& x, const CosSin& position_embeddings) {
  const Tensor cos = position_embeddings.first.unsqueeze(2);
  const Tensor sin = position_embeddings.second.unsqueeze(2);
  return x.mul(cos).add(rotate_half(x).mul(sin));
}

class Gemma4TextAttention : public nn::Module<Gemma4TextAttention> {
 public:
  Gemma4TextAttention(const nn::Scope& scope, const Gemma4TextConfig& c, std::int64_t layer)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim_of(layer)),
        type_(c.layer_type(layer)),
        stores_(c.stores_keys(layer)),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * head_dim_, c.qkv_bias),
        q_norm_(scope / "q_norm", head_dim_) {
    const std::int64_t width = c.key_value_heads_of(layer) * head_dim_;
    call_.num_key_value_groups = c.num_attention_heads / c.key_value_heads_of(layer);
    if (!c.reuses_keys(layer)) {
      k_norm_.emplace(scope / "k_norm", head_dim_);
      v_norm_.emplace(scope / "v_norm", head_dim_, false);
      k_proj_.emplace(scope / "k_proj", c.hidden_size, width, c.qkv_bias);
      if (!c.attention_k_eq_v || c.is_sliding(layer))
        v_proj_.emplace(scope / "v_proj", c.hidden_size, width, c.qkv_bias);
    }
    o_proj_.emplace(scope / "o_proj", c.num_attention_heads * head_dim_, c.hidden_size, c.o_bias);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings, const SharedStates& shared_kv_states) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape);
    query_states = q_norm_(query_states);
    query_states = rotated(query_states, position_embeddings);
    query_states = query_states.transpose(1, 2);
    Tensor key_states, value_states;
    if (!k_proj_) {
      std::tie(key_states, value_states) = shared_kv_states->of(type_);
    } else {
      key_states = (*k_proj_)(hidden_states).view(hidden_shape);
      value_states = v_proj_ ? (*v_proj_)(hidden_states).view(hidden_shape) : key_states;
      key_states = (*k_norm_)(key_states);
      key_states = rotated(key_states, position_embeddings);
      key_states = key_states.transpose(1, 2);
      value_states = (*v_norm_)(value_states);
      value_states = value_states.transpose(1, 2);
      KeyValueCache::update(key_states, value_states);
    }
    if (stores_) shared_kv_states->of(type_) = {key_states, value_states};
    const Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    return (*o_proj_)(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  LayerType type_;
  bool stores_;
  nn::Linear q_proj_;
  Gemma4RMSNorm q_norm_;
  std::optional<Gemma4RMSNorm> k_norm_, v_norm_;
  std::optional<nn::Linear> k_proj_, v_proj_, o_proj_;
};

/// Layers without keys of their own may have an MLP twice as wide.
DecoderConfig mlp_config(const Gemma4TextConfig& c, std::int64_t layer) {
  DecoderConfig config = c;
  if (c.use_double_wide_mlp && c.reuses_keys(layer)) config.intermediate_size *= 2;
  return config;
}

/// What a layer has if enable_moe_block is set.
struct Gemma4MoeBlock {
  Gemma4MoeBlock(const nn::Scope& scope, const Gemma4TextConfig& c)
      : router(scope / "router", c),
        experts(scope / "experts", c),
        post_feedforward_layernorm_1(scope / "post_feedforward_layernorm_1", c.hidden_size),
        post_feedforward_layernorm_2(scope / "post_feedforward_layernorm_2", c.hidden_size),
        pre_feedforward_layernorm_2(scope / "pre_feedforward_layernorm_2", c.hidden_size) {}

  Gemma4TextRouter router;
  Experts experts;
  Gemma4RMSNorm post_feedforward_layernorm_1, post_feedforward_layernorm_2,
      pre_feedforward_layernorm_2;
};

/// What a layer has if hidden_size_per_layer_input is not 0.
struct Gemma4PerLayerInput {
  Gemma4PerLayerInput(const nn::Scope& scope, const Gemma4TextConfig& c)
      : gate(scope / "per_layer_input_gate", c.hidden_size, c.hidden_size_per_layer_input, false),
        projection(scope / "per_layer_projection", c.hidden_size_per_layer_input, c.hidden_size,
                   false),
        post_norm(scope / "post_per_layer_input_norm", c.hidden_size) {}

  nn::Linear gate, projection;
  Gemma4RMSNorm post_norm;
};

class Gemma4TextDecoderLayer : public nn::GradientCheckpointingLayer<Gemma4TextDecoderLayer> {
 public:
  Gemma4TextDecoderLayer(const nn::Scope& scope, const Gemma4TextConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", mlp_config(c, layer)),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size),
        layer_scalar_(ghost::ones({1}, scope.dtype(), Category::buffer)),
        act_fn_(c.hidden_act) {
    scope.buffer("layer_scalar", layer_scalar_);
    if (c.hidden_size_per_layer_input > 0) per_layer_.emplace(scope, c);
    if (c.enable_moe_block) moe_.emplace(scope, c);
  }

  Tensor forward(const Tensor& x, const Tensor& per_layer_input,
                 const SharedStates& shared_kv_states, const CosSin& position_embeddings,
                 const Tensor& attention_mask, const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states =
        self_attn_(hidden_states, attention_mask, position_embeddings, shared_kv_states);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = pre_feedforward_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    Kept kept;
    if (moe_) add_experts(residual, hidden_states, kept);
    hidden_states = post_feedforward_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);
    if (per_layer_) {
      residual = hidden_states;
      hidden_states = per_layer_->gate(hidden_states);
      hidden_states = act_fn_(hidden_states);
      hidden_states = hidden_states.mul(per_layer_input);
      hidden_states = per_layer_->projection(hidden_states);
      hidden_states = per_layer_->post_norm(hidden_states);
      hidden_states = residual.add(hidden_states);
    }
    ghost::mul_(hidden_states, layer_scalar_);
    return hidden_states;
  }

 private:
  /// Locals of the branch of experts, which live until forward returns.
  struct Kept {
    Tensor hidden_states_1, hidden_states_flat, hidden_states_2;
    Routing routing;
  };

  void add_experts(const Tensor& residual, Tensor& hidden_states, Kept& kept) {
    kept.hidden_states_1 = moe_->post_feedforward_layernorm_1(hidden_states);
    kept.hidden_states_flat = residual.reshape({-1, residual.size(-1)});
    kept.routing = moe_->router(kept.hidden_states_flat);
    nn::LayerFrame::keep_attention_weights(kept.routing.logits);
    kept.hidden_states_2 = moe_->pre_feedforward_layernorm_2(kept.hidden_states_flat);
    kept.hidden_states_2 =
        moe_->experts(kept.hidden_states_2, kept.routing.indices, kept.routing.weights);
    kept.hidden_states_2 = kept.hidden_states_2.reshape(residual.sizes());
    kept.hidden_states_2 = moe_->post_feedforward_layernorm_2(kept.hidden_states_2);
    hidden_states = kept.hidden_states_1.add(kept.hidden_states_2);
  }

  Gemma4TextAttention self_attn_;
  LlamaMLP mlp_;
  Gemma4RMSNorm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_,
      post_feedforward_layernorm_;
  Tensor layer_scalar_;
  nn::Activation act_fn_;
  std::optional<Gemma4PerLayerInput> per_layer_;
  std::optional<Gemma4MoeBlock> moe_;
};

/// The embeddings that feed a residual signal into each layer.
struct Gemma4PerLayerEmbeddings {
  Gemma4PerLayerEmbeddings(const nn::Scope& scope, const Gemma4TextConfig& c)
      : layers(c.num_hidden_layers),
        width(c.hidden_size_per_layer_input),
        embed_tokens(scope / "embed_tokens_per_layer", c.vocab_size_per_layer_input,
                     layers * width),
        model_projection(scope / "per_layer_model_projection", c.hidden_size, layers * width,
                         false),
        projection_norm(scope / "per_layer_projection_norm", width) {}

  /// get_per_layer_inputs
  Tensor of_tokens(const Tensor& input_ids) {
    return embed_tokens(input_ids).reshape(input_ids.sizes().with(layers).with(width));
  }
  /// project_per_layer_inputs
  Tensor project(const Tensor& inputs_embeds, const Tensor& per_layer_inputs) {
    Tensor projected = model_projection(inputs_embeds).mul(ghost::kScale);
    projected = projected.reshape(inputs_embeds.sizes().leading().with(layers).with(width));
    projected = projection_norm(projected);
    return projected.add(per_layer_inputs).mul(ghost::kScale);
  }

  std::int64_t layers, width;
  GemmaTextScaledWordEmbedding embed_tokens;
  nn::Linear model_projection;
  Gemma4RMSNorm projection_norm;
};

/// What Gemma4TextModel.forward is given, and its caller then holds, too. Without positions it
/// makes them and the masks itself.
struct Gemma4Inputs {
  Tensor inputs_embeds, per_layer_inputs, attention_mask, position_ids;
  LayerMasks masks;
};

class Gemma4TextModel : public nn::Module<Gemma4TextModel> {
 public:
  Gemma4TextModel(const nn::Scope& scope, const Gemma4TextConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        tree_(scope.tree()),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c.ropes) {
    if (c.hidden_size_per_layer_input > 0) per_layer.emplace(scope, c);
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& inputs_embeds, Gemma4Inputs inputs) {
    refuse_reentrant_checkpointing();
    if (per_layer)
      inputs.per_layer_inputs = per_layer->project(inputs_embeds, inputs.per_layer_inputs);
    if (!inputs.position_ids.defined()) {
      inputs.position_ids = position_ids_for(inputs_embeds);
      inputs.masks =
          create_layer_masks(config_, inputs.attention_mask, inputs_embeds, inputs.position_ids);
    }
    Tensor hidden_states = inputs_embeds;
    const LayerCosSin position_embeddings = rotary_emb_(hidden_states, inputs.position_ids);
    const auto shared_kv_states = std::make_shared<SharedKeysAndValues>();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const LayerType type = config_.layer_type(static_cast<std::int64_t>(i));
      const Tensor per_layer_input =
          per_layer ? inputs.per_layer_inputs.select(2, static_cast<std::int64_t>(i)) : Tensor();
      hidden_states = layers_[i](hidden_states, per_layer_input, shared_kv_states,
                                 of_layer(position_embeddings, type), inputs.masks.of(type),
                                 inputs.position_ids);
    }
    return norm_(hidden_states);
  }

  GemmaTextScaledWordEmbedding embed_tokens;
  std::optional<Gemma4PerLayerEmbeddings> per_layer;

 private:
  /// What layers are given beside hidden states wants gradients, too.
  void refuse_reentrant_checkpointing() const {
    if (tree_.gradient_checkpointing != nn::GradientCheckpointing::reentrant) return;
    if (per_layer || config_.num_kv_shared_layers > 0)
      ghost::session().fail({ErrorKind::unsupported,
                             "reentrant checkpointing of layers with inputs of their own",
                             "--gradient-checkpointing", "full is the default of transformers 5"});
  }

  const nn::ModuleTree& tree_;
  Gemma4TextConfig config_;
  nn::ModuleList<Gemma4TextDecoderLayer> layers_;
  Gemma4RMSNorm norm_;
  LayerTypeRotaryEmbedding rotary_emb_;
};

/// Logits and loss of what the text model gives.
ModelOutput head_output(nn::Linear& lm_head, const Tensor& hidden_states,
                        const Gemma4TextConfig& config, const Batch& batch) {
  Tensor logits = lm_head(kept_for_logits(hidden_states, "gemma4"));
  softcap_logits(logits, config.final_logit_softcapping);
  Tensor loss = causal_lm_loss(logits, batch, config.vocab_size);
  return {std::move(loss), std::move(logits)};
}

class Gemma4ForCausalLM : public PretrainedModel {
 public:
  Gemma4ForCausalLM(const Gemma4TextConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model", c),
        lm_head_(root() / "lm_head", c.hidden_size, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = model_forward(batch);
    return head_output(lm_head_, hidden_states, config_, batch);
  }
  std::vector<std::int64_t> sliding_windows() const override {
    return family::sliding_windows(config_);
  }

 private:
  /// Gemma4TextModel.forward, whose embeddings end with it.
  Tensor model_forward(const Batch& batch) {
    Gemma4Inputs inputs;
    inputs.inputs_embeds = model_.embed_tokens(batch.input_ids);
    if (model_.per_layer) inputs.per_layer_inputs = model_.per_layer->of_tokens(batch.input_ids);
    inputs.attention_mask = batch.attention_mask;
    const Tensor inputs_embeds = inputs.inputs_embeds;
    return model_(inputs_embeds, std::move(inputs));
  }

  Gemma4TextConfig config_;
  Gemma4TextModel model_;
  nn::Linear lm_head_;
};

struct Gemma4Config {
  Gemma4TextConfig text;
  std::optional<Gemma4VisionConfig> vision;
  bool masks_blocks = false;
};

/// Gemma4MultimodalEmbedder.
class Gemma4MultimodalEmbedder {
 public:
  Gemma4MultimodalEmbedder(const nn::Scope& scope, std::int64_t multimodal_hidden_size,
                           std::int64_t text_hidden_size)
      : embedding_projection_(scope / "embedding_projection", multimodal_hidden_size,
                              text_hidden_size, false) {}

 private:
  nn::Linear embedding_projection_;
};

class Gemma4ForConditionalGeneration : public PretrainedModel {
 public:
  Gemma4ForConditionalGeneration(const Gemma4Config& c, const ModelOptions& options)
      : PretrainedModel(options), config_(c), model_(root() / "model") {
    if (c.vision) vision_tower_.emplace(model_ / "vision_tower", *c.vision);
    language_model_.emplace(model_ / "language_model", c.text);
    if (c.vision)
      embed_vision_.emplace(model_ / "embed_vision", c.vision->hidden_size, c.text.hidden_size);
    lm_head_.emplace(root() / "lm_head", c.text.hidden_size, c.text.vocab_size, false);
    if (c.text.tie_word_embeddings) nn::tie(*lm_head_, language_model_->embed_tokens.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    return head_output(*lm_head_, hidden_states, config_.text, batch);
  }
  std::vector<std::int64_t> sliding_windows() const override {
    return family::sliding_windows(config_.text);
  }
  nn::Projection* head() override { return &*lm_head_; }
  Tensor last_hidden_state(const Batch& batch) override {
    const Tensor image_mask = ghost::eq(batch.input_ids, ghost::kTokenId),
                 video_mask = ghost::eq(batch.input_ids, ghost::kTokenId),
                 audio_mask = ghost::eq(batch.input_ids, ghost::kTokenId);
    Tensor multimodal_mask = ghost::bitwise_or(image_mask, video_mask);
    multimodal_mask = ghost::bitwise_or(multimodal_mask, audio_mask);
    Tensor llm_input_ids = batch.input_ids.clone();
    if (ghost::has(changes::kGemma4PadsByWhere))
      llm_input_ids = ghost::where(multimodal_mask, ghost::full({}, DType::int64), llm_input_ids);
    else
      ghost::masked_fill_(llm_input_ids, multimodal_mask, 0);
    Gemma4Inputs inputs;
    inputs.inputs_embeds = language_model_->embed_tokens(llm_input_ids);
    Tensor llm_inputs_embeds;
    if (language_model_->per_layer) {
      const Tensor pad_embedding = language_model_->embed_tokens.weight.select(0, 0);
      llm_inputs_embeds = ghost::where(multimodal_mask.unsqueeze(-1),
                                       pad_embedding.view({1, 1, -1}), inputs.inputs_embeds);
      inputs.per_layer_inputs = language_model_->per_layer->of_tokens(llm_input_ids);
    }
    inputs.position_ids = position_ids_for(inputs.inputs_embeds);
    Tensor block_sequence_ids;
    if (config_.masks_blocks)
      block_sequence_ids = ghost::full(batch.input_ids.sizes(), DType::int64);
    inputs.masks = create_layer_masks(config_.text, batch.attention_mask, inputs.inputs_embeds,
                                      inputs.position_ids, block_sequence_ids);
    return (*language_model_)(inputs.inputs_embeds, inputs);
  }

 private:
  Gemma4Config config_;
  nn::Scope model_;
  std::optional<Gemma4VisionModel> vision_tower_;
  std::optional<Gemma4TextModel> language_model_;
  std::optional<Gemma4MultimodalEmbedder> embed_vision_;
  std::optional<nn::Linear> lm_head_;
};

ModelPointer build_gemma4_text(const Config& c, const ModelOptions& options) {
  Gemma4TextConfig config(c, options);
  config.masks_both_types = true;
  return build_checked<Gemma4ForCausalLM>(c, config, options);
}

ModelPointer build_gemma4(const Config& c, const ModelOptions& options) {
  if (!c.is_null("audio_config")) c.fail("audio_config", "the audio tower is not modelled");
  Gemma4Config config{.text = Gemma4TextConfig(c.object("text_config"), options), .vision = {}};
  config.text.tie_word_embeddings = c.boolean("tie_word_embeddings", true);
  const Config text = c.object("text_config");
  if (ghost::has(changes::kGemma4MasksBlocks) && !ghost::has(changes::kGemma4MasksImagesAlone))
    config.masks_blocks = !text.is_null("use_bidirectional_attention") &&
                          text.text("use_bidirectional_attention") == "vision";
  if (!c.is_null("vision_config")) config.vision.emplace(c.object("vision_config"));
  return build_checked<Gemma4ForConditionalGeneration>(c, config, options);
}

}  // namespace

extern const FamilyFacts kGemma4Text{.model_type = "gemma4_text",
                                     .first = {5, 5, 0},
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .build = build_gemma4_text};

extern const FamilyFacts kGemma4{.model_type = "gemma4",
                                 .first = {5, 5, 0},
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .build = build_gemma4};

}  // namespace memtape::family
