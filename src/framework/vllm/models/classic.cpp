// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/classic.h"

#include <deque>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/tied_head.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"
#include "ghost/ops/pointwise.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// Which layer it is, for those that differ.
enum class LayerIndex : std::int64_t {};

/// gpt2.py, GPT2Block.
class Gpt2Block : public nn::Module<Gpt2Block> {
 public:
  Gpt2Block(const Place& place, std::int64_t hidden, std::int64_t inner)
      : Module(place.scope()),
        ln_1_(place / "ln_1", hidden),
        attn_(place / "attn", hidden, config_heads(place),
              {.qkv_bias = true,
               .output_bias = true,
               .rope = false,
               .names = {"c_attn", "c_proj", "attn"}}),
        ln_2_(place / "ln_2", hidden),
        mlp_(place / "mlp", hidden, inner, {"c_fc", "c_proj"}) {}

  Tensor forward(const Tensor& input) {
    Tensor residual = input;
    Tensor hidden = ln_1_(input);
    const Tensor attn_output = attn_(hidden);
    hidden = attn_output.add(residual);
    residual = hidden;
    hidden = ln_2_(hidden);
    const Tensor feed_forward = mlp_(hidden);
    hidden = residual.add(feed_forward);
    return hidden;
  }

 private:
  LayerNorm ln_1_;
  AttentionBlock attn_;
  LayerNorm ln_2_;
  PlainMlp mlp_;
};

/// opt.py, OPTDecoderLayer.
class OptLayer : public nn::Module<OptLayer> {
 public:
  OptLayer(const Place& place, std::int64_t hidden)
      : Module(place.scope()),
        norms_first_(place.config().boolean("do_layer_norm_before", true)),
        attention_(place / "self_attn", hidden, config_heads(place),
                   {.qkv_bias = place.config().boolean("enable_bias", true),
                    .output_bias = place.config().boolean("enable_bias", true),
                    .rope = false,
                    .names = {"qkv_proj", "out_proj", "attn"}}),
        first_(place / "self_attn_layer_norm", hidden),
        mlp_(place, hidden, place.config().dimension("ffn_dim"), {"fc1", "fc2"}),
        second_(place / "final_layer_norm", hidden) {}

  Tensor forward(const Tensor& input) {
    Tensor residual = input;
    Tensor hidden = norms_first_ ? first_(input) : input;
    hidden = attention_(hidden);
    hidden = residual.add(hidden);
    if (!norms_first_) hidden = first_(hidden);
    residual = hidden;
    if (norms_first_) hidden = second_(hidden);
    hidden = mlp_.run(std::move(hidden));
    hidden = residual.add(hidden);
    return norms_first_ ? hidden : second_(hidden);
  }

 private:
  bool norms_first_;
  AttentionBlock attention_;
  LayerNorm first_;
  PlainMlp mlp_;
  LayerNorm second_;
};

/// bloom.py, BloomBlock.
class BloomBlock : public nn::Module<BloomBlock> {
 public:
  BloomBlock(const Place& place, std::int64_t hidden)
      : Module(place.scope()),
        first_(place / "input_layernorm", hidden),
        attention_(place / "self_attention", hidden, config_heads(place),
                   {.qkv_bias = true,
                    .output_bias = true,
                    .rope = false,
                    .names = {"query_key_value", "dense", "attn"}}),
        second_(place / "post_attention_layernorm", hidden),
        mlp_(place / "mlp", hidden, 4 * hidden, {"dense_h_to_4h", "dense_4h_to_h"}) {}

  Tensor forward(const Tensor& input) {
    Tensor normed = first_(input);
    Tensor attention = attention_(normed);
    attention = attention.add(input);
    normed = second_(attention);
    return mlp_(normed).add(attention);
  }

 private:
  LayerNorm first_;
  AttentionBlock attention_;
  LayerNorm second_;
  PlainMlp mlp_;
};

/// commandr.py, CohereDecoderLayer: both blocks beside each other; their norm
/// is compiled to one kernel.
class CohereLayer : public nn::Module<CohereLayer> {
 public:
  CohereLayer(const Place& place, std::int64_t hidden, LayerIndex index)
      : Module(place.scope()),
        attention_(place / "self_attn", hidden, config_heads(place),
                   {.qk_norm = place.config().boolean("use_qk_norm", false),
                    .norm_last = true,
                    .window = window_of(place.config(), index),
                    .full_width_norms = true,
                    .reduce_results = false}),
        mlp_(place / "mlp", hidden, place.config().dimension("intermediate_size"),
             {.reduce_results = false}),
        norm_(place / "input_layernorm", hidden) {}

  Tensor forward(const Tensor& input) {
    const Tensor hidden = norm_(input);
    const Tensor attention = attention_(hidden);
    const Tensor feed_forward = mlp_(hidden);
    Tensor sum = attention.add(feed_forward);
    sum = all_reduce(attention_.runtime(), sum);
    return input.add(sum);
  }

 private:
  /// A sliding layer of Cohere 2 sees one token more than its window; Cohere2Config: every layer
  /// but each sliding_window_pattern-th slides where the file does not say.
  static std::int64_t window_of(const Config& c, LayerIndex index) {
    if (type_of(c) != "cohere2") return 0;
    const auto layer = static_cast<std::int64_t>(index);
    const bool slides = c.has("layer_types")
                            ? layer_type(c, layer) == "sliding_attention"
                            : (layer + 1) % c.dimension("sliding_window_pattern", 4) != 0;
    return slides ? c.integer("sliding_window", 4096) + 1 : AttentionOptions::kFull;
  }

  AttentionBlock attention_;
  GatedMlp mlp_;
  RMSNorm norm_;
};

/// falcon.py, FalconDecoderLayer.
class FalconLayer : public nn::Module<FalconLayer> {
 public:
  FalconLayer(const Place& place, std::int64_t hidden)
      : Module(place.scope()),
        parallel_(place.config().boolean("parallel_attn", true)),
        new_architecture_(place.config().boolean("new_decoder_architecture", false)) {
    const Config& c = place.config();
    const bool bias = c.boolean("bias", false);
    const std::int64_t norms =
        c.optional_integer("num_ln_in_parallel_attn").value_or(new_architecture_ ? 2 : 1);
    attention_ = std::make_unique<AttentionBlock>(
        place / "self_attention", hidden, heads(place),
        AttentionBlockOptions{.qkv_bias = bias,
                              .output_bias = bias,
                              .rope = !c.boolean("alibi", false),
                              .default_max_position = 2048,
                              .names = {"query_key_value", "dense", "attn"},
                              .reduce_results = !(parallel_ || new_architecture_)});
    mlp_up_ = std::make_unique<Linear>(place / "mlp" / "dense_h_to_4h", hidden,
                                       std::vector<std::int64_t>{4 * hidden},
                                       LinearOptions{.bias = bias, .skip_bias_add = true});
    mlp_down_ = std::make_unique<Linear>(
        place / "mlp" / "dense_4h_to_h", 4 * hidden, std::vector<std::int64_t>{hidden},
        LinearOptions{.cut = Cut::row,
                      .bias = bias,
                      .reduce_results = !(parallel_ || new_architecture_),
                      .skip_bias_add = true});
    if (!parallel_) second_norm_.emplace(place / "post_attention_layernorm", hidden);
    const bool two = parallel_ && norms == 2;
    norm_.emplace(place / (two ? "ln_attn" : "input_layernorm"), hidden);
    if (two) second_norm_.emplace(place / "ln_mlp", hidden);
  }

  Tensor forward(const Tensor& input) {
    const Tensor attention_in = (*norm_)(input);
    Tensor mlp_in = parallel_ && second_norm_ ? (*second_norm_)(input) : attention_in;
    const Tensor attention = (*attention_)(attention_in);
    if (!parallel_) mlp_in = (*second_norm_)(input);  // the residual takes it in, in place
    Tensor mlp = (*mlp_up_)(mlp_in);
    mlp = kernel_output("gelu", mlp.sizes(), mlp.dtype());
    mlp = (*mlp_down_)(mlp);
    if (parallel_ || new_architecture_) mlp = all_reduce(mlp_down_->runtime(), mlp);
    return mlp.add(input);
  }

 private:
  static Heads heads(const Place& place) {
    const Config& c = place.config();
    const std::int64_t count = c.dimension({"num_attention_heads", "n_head"});
    const std::int64_t kv = c.boolean("new_decoder_architecture", false)
                                ? c.optional_dimension("num_kv_heads").value_or(count)
                            : c.boolean("multi_query", true) ? 1
                                                             : count;
    return {place.runtime(), count, kv, c.dimension("hidden_size") / count};
  }

  bool parallel_, new_architecture_;
  std::unique_ptr<AttentionBlock> attention_;
  std::unique_ptr<Linear> mlp_up_, mlp_down_;
  std::optional<LayerNorm> norm_, second_norm_;
};

/// dbrx.py, DbrxBlock: norms around the attention, experts after them.
class DbrxLayer : public nn::Module<DbrxLayer> {
 public:
  DbrxLayer(const Place& place, std::int64_t hidden)
      : Module(place.scope()),
        attention_(place / "norm_attn_norm" / "attn", hidden, heads(place),
                   {.default_max_position = place.config().dimension("max_seq_len", 2048),
                    .names = {"Wqkv", "out_proj", "attn"}}),
        norm_1_(place / "norm_attn_norm" / "norm_1", hidden, false),
        norm_2_(place / "norm_attn_norm" / "norm_2", hidden, false),
        experts_(place / "ffn", shape(place, hidden), {.gate_name = "router"}) {}

  Tensor forward(const Tensor& input) {
    Tensor hidden, residual;
    {
      Tensor normed = norm_1_(input);
      const Tensor x = attention_(normed);
      normed = input.add(x);
      residual = normed;
      hidden = norm_2_(normed);
    }
    hidden = experts_(hidden);
    return hidden.add(residual);
  }

 private:
  static Heads heads(const Place& place) {
    const Config& c = place.config();
    const std::int64_t count = c.dimension("n_heads");
    return {place.runtime(), count, c.object("attn_config").dimension("kv_n_heads", 1),
            c.dimension("d_model") / count};
  }
  static ExpertShape shape(const Place& place, std::int64_t hidden) {
    const Config ffn = place.config().object("ffn_config");
    return {place.runtime(), ffn.dimension("moe_num_experts", 4), ffn.dimension("moe_top_k", 1),
            hidden, ffn.dimension("ffn_hidden_size", 3584)};
  }

  AttentionBlock attention_;
  LayerNorm norm_1_, norm_2_;
  MoeBlock experts_;
};

/// chatglm.py, GLMBlock: the residual is what the layer began with, or its norm.
class GlmLayer : public nn::Module<GlmLayer> {
 public:
  GlmLayer(const Place& place, std::int64_t hidden)
      : Module(place.scope()),
        normed_residual_(place.config().boolean("apply_residual_connection_post_layernorm", false)),
        first_(place / "input_layernorm", hidden),
        attention_(place / "self_attention", hidden, heads(place),
                   {.qkv_bias = linear_bias(place) || place.config().boolean("add_qkv_bias", false),
                    .output_bias = linear_bias(place),
                    .default_max_position = place.config().integer("seq_length", 8192),
                    .partial_rotary_factor = 0.5,
                    .names = {"query_key_value", "dense", "attn"}}),
        second_(place / "post_attention_layernorm", hidden),
        mlp_(place / "mlp", hidden, place.config().dimension("ffn_hidden_size"),
             {.bias = linear_bias(place), .drops_projection = true}) {}

  Tensor forward(const Tensor& input) {
    Tensor normed = first_(input);
    const Tensor attention_output = attention_(normed);
    Tensor residual = normed_residual_ ? normed : input;
    const Tensor sum = residual.add(attention_output);
    normed = second_(sum);
    residual = normed_residual_ ? normed : sum;
    return mlp_(normed).add(residual);
  }

 private:
  static bool linear_bias(const Place& place) {
    return place.config().boolean("add_bias_linear", false);
  }
  static Heads heads(const Place& place) {
    const Config& c = place.config();
    const std::int64_t count = c.dimension("num_attention_heads");
    const std::int64_t kv =
        c.boolean("multi_query_attention", false) ? c.dimension("multi_query_group_num", 1) : count;
    return {place.runtime(), count, kv, c.dimension("hidden_size") / count};
  }

  bool normed_residual_;
  RMSNorm first_;
  AttentionBlock attention_;
  RMSNorm second_;
  GatedMlp mlp_;
};

/// Where these models keep their parts, and which they have.
struct ClassicNames {
  const char *body, *embedding, *layers, *norm;
  const char* positions = nullptr;       ///< learned positions
  std::int64_t more_positions = 0;       ///< rows before the first position (OPT)
  const char* embedding_norm = nullptr;  ///< a norm after the embedding (Bloom)
  bool has_norm = true;
  bool keeps_residual = false;  ///< layers pass on their input beside their output (Cohere)
  bool norm_bias = true;
  bool keeps_embedding = false;  ///< a local of the model's forward() (ChatGLM)
};

/// Embedding, blocks, a last norm and a head.
template <class Layer, class Norm = LayerNorm>
class ClassicDecoder final : public ServedModel {
 public:
  ClassicDecoder(const Place& place, const ClassicNames& names)
      : runtime_(place.runtime()),
        names_(names),
        hidden_(place.config().dimension({"hidden_size", "n_embd", "d_model"})) {
    const Config& c = place.config();
    const Place body = place / names.body;
    const std::int64_t vocabulary = c.dimension({"vocab_size", "padded_vocab_size"});
    const std::int64_t width = c.optional_dimension("word_embed_proj_dim").value_or(hidden_);
    embedding_.emplace(body / names.embedding, vocabulary, width);
    if (names.positions)
      positions_ =
          (body / names.positions)
              .parameter("weight", {c.dimension({"max_position_embeddings", "n_positions"}, 1024) +
                                        names.more_positions,
                                    hidden_});
    if (width != hidden_) {
      const LinearOptions replicated{.cut = Cut::replicated};
      project_out_.emplace(body / "project_out", hidden_, std::vector<std::int64_t>{width},
                           replicated);
      project_in_.emplace(body / "project_in", width, std::vector<std::int64_t>{hidden_},
                          replicated);
    }
    if (names.embedding_norm) embedding_norm_.emplace(body / names.embedding_norm, hidden_);
    const StageLayers range =
        stage_layers(runtime_.parallel(),
                     c.layers(Keys("num_hidden_layers", "n_layer", "n_layers", "num_layers")));
    for (std::int64_t i = range.first; i < range.last; ++i) {
      add_layer(body / names.layers / i, LayerIndex{i});
      offload_layers(body, names.layers);
    }
    if (names.has_norm) make_norm(body / names.norm);
    head_.emplace(place / "lm_head", vocabulary, width);
    if (ties_head(c)) head_->tie(embedding_->table());
  }

  Tensor forward(const Tensor& input_ids, const Stream& input) override {
    Tensor embeds, position_embeds, residual;
    Tensor hidden = input.hidden;
    if (runtime_.parallel().first_stage()) {
      hidden = (*embedding_)(input_ids);
      if (positions_.defined()) {
        embeds = hidden;
        position_embeds = embed_positions(embeds.size(0));
        if (project_in_) embeds = (*project_in_)(embeds);
        hidden = embeds.add(position_embeds);
      }
      if (embedding_norm_) hidden = (*embedding_norm_)(hidden);
      if (names_.keeps_embedding) embeds = hidden;
    }
    for (Layer& layer : layers_) {
      Tensor next = layer(hidden);
      if (names_.keeps_residual) residual = hidden;
      hidden = next;
    }
    if (!runtime_.parallel().last_stage()) return hidden;
    if (norm_) hidden = (*norm_)(hidden);
    return project_out_ ? (*project_out_)(hidden) : hidden;
  }
  Tensor compute_logits(const Tensor& hidden_states) override {
    return head_->logits(hidden_states, false);
  }
  int intermediate_tensors() const override { return 1; }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  Tensor embed_positions(std::int64_t tokens) const {
    Tensor moved;
    if (names_.more_positions > 0) moved = kernel_output("add", {tokens}, DType::int64);
    return kernel_output("embedding", {tokens, hidden_}, runtime_.dtype());
  }
  void make_norm(const Place& place) {
    if constexpr (std::is_same_v<Norm, LayerNorm>)
      norm_.emplace(place, hidden_, names_.norm_bias);
    else
      norm_.emplace(place, hidden_);
  }
  void add_layer(const Place& place, LayerIndex index) {
    if constexpr (std::is_constructible_v<Layer, const Place&, std::int64_t, LayerIndex>)
      layers_.emplace_back(place, hidden_, index);
    else if constexpr (std::is_constructible_v<Layer, const Place&, std::int64_t, std::int64_t>)
      layers_.emplace_back(place, hidden_,
                           place.config().optional_dimension("n_inner").value_or(4 * hidden_));
    else
      layers_.emplace_back(place, hidden_);
  }

  Runtime& runtime_;
  ClassicNames names_;
  std::int64_t hidden_;
  std::optional<VocabParallelEmbedding> embedding_;
  std::optional<Linear> project_out_, project_in_;
  Tensor positions_;
  std::optional<LayerNorm> embedding_norm_;
  std::deque<Layer> layers_;
  std::optional<Norm> norm_;
  std::optional<ParallelLMHead> head_;
};

}  // namespace

std::unique_ptr<ServedModel> make_gpt2(const Place& place) {
  return std::make_unique<ClassicDecoder<Gpt2Block>>(place, ClassicNames{.body = "transformer",
                                                                         .embedding = "wte",
                                                                         .layers = "h",
                                                                         .norm = "ln_f",
                                                                         .positions = "wpe"});
}

std::unique_ptr<ServedModel> make_falcon(const Place& place) {
  return std::make_unique<ClassicDecoder<FalconLayer>>(
      place,
      ClassicNames{
          .body = "transformer", .embedding = "word_embeddings", .layers = "h", .norm = "ln_f"});
}

std::unique_ptr<ServedModel> make_opt(const Place& place) {
  const Config& c = place.config();
  return std::make_unique<ClassicDecoder<OptLayer>>(
      place, ClassicNames{.body = "model.decoder",
                          .embedding = "embed_tokens",
                          .layers = "layers",
                          .norm = "final_layer_norm",
                          .positions = "embed_positions",
                          .more_positions = 2,
                          .has_norm = c.boolean("do_layer_norm_before", true) &&
                                      !c.boolean("_remove_final_layer_norm", false)});
}

std::unique_ptr<ServedModel> make_bloom(const Place& place) {
  return std::make_unique<ClassicDecoder<BloomBlock>>(
      place, ClassicNames{.body = "transformer",
                          .embedding = "word_embeddings",
                          .layers = "h",
                          .norm = "ln_f",
                          .embedding_norm = "word_embeddings_layernorm"});
}

std::unique_ptr<ServedModel> make_cohere(const Place& place) {
  return std::make_unique<ClassicDecoder<CohereLayer, RMSNorm>>(
      place, ClassicNames{.body = "model",
                          .embedding = "embed_tokens",
                          .layers = "layers",
                          .norm = "norm",
                          .keeps_residual = true});
}

std::unique_ptr<ServedModel> make_chatglm(const Place& place) {
  return std::make_unique<ClassicDecoder<GlmLayer, RMSNorm>>(
      place, ClassicNames{.body = "transformer",
                          .embedding = "embedding",
                          .layers = "encoder.layers",
                          .norm = "encoder.final_layernorm",
                          .has_norm = place.config().boolean("post_layer_norm", true),
                          .keeps_embedding = true});
}

std::unique_ptr<ServedModel> make_dbrx(const Place& place) {
  return std::make_unique<ClassicDecoder<DbrxLayer>>(place, ClassicNames{.body = "transformer",
                                                                         .embedding = "wte",
                                                                         .layers = "blocks",
                                                                         .norm = "norm_f",
                                                                         .norm_bias = false});
}

}  // namespace memtape::vllm
