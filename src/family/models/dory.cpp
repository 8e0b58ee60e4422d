// SPDX-License-Identifier: Apache-2.0
// Dory: a normalized transformer (nGPT) some of whose layers run several times; states lie on a
// sphere, and residuals are interpolations. Mirroring transformers 5.24
// models/dory/modular_dory.py.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"

namespace memtape::family {
namespace {

/// Counts attention and MLP of a layer as one layer, where a file lists them as two.
std::vector<LayerType> dory_layers(const Config& c, std::int64_t& num_hidden_layers,
                                   std::int64_t& parts) {
  const std::vector<std::string> named = c.texts("layer_types");
  if (std::find(named.begin(), named.end(), "mlp") == named.end())
    return read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return (layer + 1) % 4 == 0 ? LayerType::full_attention : LayerType::sliding_attention;
    });
  if (named.size() != static_cast<std::size_t>(num_hidden_layers) || named.size() % 2 != 0)
    c.fail("layer_types", "must name attention and mlp of each of num_hidden_layers blocks");
  std::vector<LayerType> types;
  for (std::size_t i = 0; i + 1 < named.size(); i += 2)
    types.push_back(named[i] == "full_attention" ? LayerType::full_attention
                                                 : LayerType::sliding_attention);
  parts = 2;
  num_hidden_layers = static_cast<std::int64_t>(types.size());
  return types;
}

struct DoryConfig : DecoderConfig {
  DoryConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 131072,
                       .hidden_size = 2560,
                       .intermediate_size = 7168,
                       .num_hidden_layers = 36,
                       .num_attention_heads = 16,
                       .num_key_value_heads = 4,
                       .head_dim = 256}) {
    std::int64_t parts = 1;
    layer_types = dory_layers(c, num_hidden_layers, parts);
    n_input_layers = c.count("n_input_layers", 8 * parts) / parts;
    n_output_layers = c.count("n_output_layers", 8 * parts) / parts;
    n_recurrent_layers = c.is_null("n_recurrent_layers")
                             ? num_hidden_layers - n_input_layers - n_output_layers
                             : c.count("n_recurrent_layers", 0) / parts;
    n_recurrent_loops = c.dimension("n_recurrent_loops", 2);
    if (n_recurrent_layers < 0 ||
        n_input_layers + n_recurrent_layers + n_output_layers != num_hidden_layers)
      c.fail("n_recurrent_layers",
             "must be num_hidden_layers less n_input_layers and n_output_layers");
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
    sliding_window = c.dimension("sliding_window", 1024);
    masks_by_layer_type = masks_both_types = true;
    writes_last_loop_alone = c.text("recurrent_kv_cache_mode", "per_loop") == "last_loop";
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  std::int64_t n_input_layers, n_output_layers, n_recurrent_layers, n_recurrent_loops;
  bool writes_last_loop_alone;
  LayerRopes ropes;
};

/// Llama4TextL2Norm's, but for a sum in the place of the mean.
class DoryL2Norm : public nn::Module<DoryL2Norm> {
 public:
  explicit DoryL2Norm(const nn::Scope& scope) : Module(scope) {}
  Tensor forward(const Tensor& x) {
    Tensor normed;
    {
      const Tensor in_float = x.to_float();
      normed = in_float.mul(ghost::rsqrt(in_float.pow(2).sum(-1, true).add(1e-6)));
    }
    return std::move(normed).to(x.dtype());
  }
};

class DoryAttention : public nn::Module<DoryAttention> {
 public:
  DoryAttention(const nn::Scope& scope, const DoryConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        q_norm_(scope / "q_norm"),
        k_norm_(scope / "k_norm"),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.num_attention_heads * c.head_dim, false),
        attn_sub_norm_(scope / "attn_sub_norm"),
        sqk_(scope.parameter("sqk", {c.num_attention_heads * c.head_dim})),
        s_gate_(scope.parameter("s_gate", {c.num_attention_heads * c.head_dim})) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape);
    const Tensor gate_states = gate_proj_(hidden_states);
    query_states = q_norm_(query_states).transpose(1, 2);
    key_states = k_norm_(key_states).transpose(1, 2);
    value_states = value_states.transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb(query_states, key_states, position_embeddings);
    const Tensor query_scale = sqk_.mul(2.0).view({-1, 1, head_dim_});
    query_states = query_states.mul(query_scale.pow(2));
    KeyValueCache::update(key_states, value_states);
    Tensor output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    output = output.view(input_shape.with(-1)).contiguous();
    output = output.mul(ghost::sigmoid(gate_states.mul(s_gate_.mul(2.0).pow(2))));
    return o_proj_(attn_sub_norm_(output));
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  DoryL2Norm q_norm_, k_norm_;
  nn::Linear gate_proj_;
  DoryL2Norm attn_sub_norm_;
  Tensor sqk_, s_gate_;
};

class DoryMLP : public nn::Module<DoryMLP> {
 public:
  DoryMLP(const nn::Scope& scope, const DoryConfig& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
        act_fn_(c.hidden_act),
        suv_gate_(scope.parameter("suv_gate", {c.intermediate_size})),
        suv_up_(scope.parameter("suv_up", {c.intermediate_size})),
        ffn_sub_norm_(scope / "ffn_sub_norm") {}

  Tensor forward(const Tensor& hidden_states) {
    const Tensor gate = gate_proj_(hidden_states).mul(suv_gate_.mul(2.0));
    const Tensor up = up_proj_(hidden_states).mul(suv_up_.mul(2.0));
    return down_proj_(ffn_sub_norm_(act_fn_(gate).mul(up)));
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
  Tensor suv_gate_, suv_up_;
  DoryL2Norm ffn_sub_norm_;
};

class DoryDecoderLayer : public nn::GradientCheckpointingLayer<DoryDecoderLayer> {
 public:
  DoryDecoderLayer(const nn::Scope& scope, const DoryConfig& c, nn::ListIndex)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm"),
        post_attention_layernorm_(scope / "post_attention_layernorm"),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm"),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm"),
        lambda_1_(scope.parameter("lambda_1", {c.hidden_size})),
        lambda_2_(scope.parameter("lambda_2", {c.hidden_size})) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor hidden_states = input_layernorm_(x);
    Tensor attn_output = self_attn_(hidden_states, attention_mask, position_embeddings);
    attn_output = post_attention_layernorm_(attn_output);
    const Tensor attention_rate = ghost::abs(lambda_1_.mul(2.0));
    hidden_states = hidden_states.add(attention_rate.mul(attn_output.sub(hidden_states)));

    hidden_states = pre_feedforward_layernorm_(hidden_states);
    const Tensor mlp_output = post_feedforward_layernorm_(mlp_(hidden_states));
    const Tensor mlp_rate = ghost::abs(lambda_2_.mul(2.0));
    hidden_states = hidden_states.add(mlp_rate.mul(mlp_output.sub(hidden_states)));
    return hidden_states;
  }

 private:
  DoryAttention self_attn_;
  DoryMLP mlp_;
  DoryL2Norm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_,
      post_feedforward_layernorm_;
  Tensor lambda_1_, lambda_2_;
};

class DoryModel : public nn::Module<DoryModel> {
 public:
  DoryModel(const nn::Scope& scope, const DoryConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm"),
        rotary_emb_(scope / "rotary_emb", c.ropes) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    if (config_.writes_last_loop_alone && KeyValueCache::passed())
      ghost::session().fail({ErrorKind::unsupported,
                             "a cache that the last loop alone writes to is not modelled",
                             "recurrent_kv_cache_mode", "per_loop"});
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const LayerMasks masks =
        create_layer_masks(config_, attention_mask, inputs_embeds, position_ids);
    const LayerCosSin position_embeddings = rotary_emb_(inputs_embeds, position_ids);
    Tensor hidden_states = inputs_embeds;
    const auto run = [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t layer = first; layer < end; ++layer) {
        const LayerType type = config_.layer_type(layer);
        hidden_states = layers_[static_cast<std::size_t>(layer)](
            hidden_states, masks.of(type), of_layer(position_embeddings, type), Tensor());
      }
    };
    const std::int64_t start = config_.n_input_layers, end = start + config_.n_recurrent_layers;
    run(0, start);
    const Tensor input_hidden_states = norm_(hidden_states);
    for (std::int64_t loop = 0; loop < config_.n_recurrent_loops; ++loop) {
      hidden_states = norm_(hidden_states).add(input_hidden_states);
      run(start, end);
    }
    run(end, config_.num_hidden_layers);
    return norm_(hidden_states);
  }

  nn::Embedding embed_tokens;

 private:
  DoryConfig config_;
  nn::ModuleList<DoryDecoderLayer> layers_;
  DoryL2Norm norm_;
  LayerTypeRotaryEmbedding rotary_emb_;
};

class DoryForCausalLM final : public PretrainedModel {
 public:
  DoryForCausalLM(const DoryConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model", c),
        lm_head_(root() / "lm_head", c.hidden_size, c.vocab_size, false),
        logit_scale_(nn::Scope(tree, lm_head_.node()).parameter("logit_scale", {c.vocab_size})) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return model_(batch.input_ids, batch.attention_mask);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    Tensor logits = scaled_logits(kept_for_logits(hidden_states, model_type));
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, model_type);
    return {std::move(loss), std::move(logits)};
  }

  /// In the order in which layers write to a cache: those that run again have a copy a loop.
  std::vector<std::int64_t> sliding_windows() const override {
    const std::vector<std::int64_t> once = family::sliding_windows(config_);
    const auto start = once.begin() + config_.n_input_layers;
    const auto end = start + config_.n_recurrent_layers;
    std::vector<std::int64_t> windows(once.begin(), start);
    for (std::int64_t loop = 0; loop < config_.n_recurrent_loops; ++loop)
      windows.insert(windows.end(), start, end);
    windows.insert(windows.end(), end, once.end());
    return windows;
  }

 private:
  /// DoryLMHead: the logits of each token by a scale that is learned.
  Tensor scaled_logits(const Tensor& hidden_states) {
    const Tensor logits = lm_head_(hidden_states).to_float();
    return logits.mul(logit_scale_.to_float().mul(2.0));
  }

  DoryConfig config_;
  DoryModel model_;
  nn::Linear lm_head_;
  Tensor logit_scale_;
};

ModelPointer build_dory(const Config& c, const ModelOptions& options) {
  return build_checked<DoryForCausalLM>(c, DoryConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kDory{.model_type = "dory",
                               .first = {5, 24, 0},
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .build = build_dory};

}  // namespace memtape::family
