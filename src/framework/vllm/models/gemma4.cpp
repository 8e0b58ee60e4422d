// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/gemma4.h"

#include <deque>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/tied_head.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// What a layer is by its place (Gemma4TextConfig's per_layer_config).
struct LayerKind {
  LayerKind(const Config& c, std::int64_t index)
      : is_sliding(layer_type(c, index) == "sliding_attention") {
    heads = c.dimension("num_attention_heads");
    kv_heads = c.dimension("num_key_value_heads");
    size = c.dimension("head_dim", 256);
    if (!is_sliding) {
      size = c.optional_dimension("global_head_dim").value_or(size);
      if (c.boolean("attention_k_eq_v", true))
        kv_heads = c.optional_dimension("num_global_key_value_heads").value_or(kv_heads);
    }
    const std::int64_t layers = c.layers("num_hidden_layers");
    const std::int64_t first_shared = layers - c.count("num_kv_shared_layers", 0);
    shares_cache = first_shared < layers && index >= first_shared;
    window = is_sliding ? c.integer("sliding_window", 512) : AttentionOptions::kFull;
    width = c.dimension("intermediate_size");
    if (shares_cache && first_shared > 0 && c.boolean("use_double_wide_mlp", false)) width *= 2;
  }
  bool is_sliding, shares_cache = false;
  std::int64_t heads = 1, kv_heads = 1, size = 1, window = 0, width = 1;
};

class Gemma4Attention : public nn::Module<Gemma4Attention> {
 public:
  Gemma4Attention(const Place& place, const LayerKind& kind)
      : Module(place.scope()),
        shares_cache_(kind.shares_cache),
        heads_(place.runtime(), kind.heads, kind.kv_heads, kind.size) {
    const Config& c = place.config();
    const std::int64_t hidden = c.dimension("hidden_size");
    const bool bias = c.boolean("attention_bias", false);
    if (shares_cache_) {
      proj_ = std::make_unique<Linear>(place / "q_proj", hidden,
                                       std::vector<std::int64_t>{heads_.total * heads_.size},
                                       LinearOptions{.bias = bias});
    } else {
      proj_ = qkv_linear(place / "qkv_proj", hidden, heads_, {.bias = bias});
      k_norm_.emplace(place / "k_norm", heads_.size);
      v_norm_.emplace(place / "v_norm", heads_.size, NormKind::rms, false);
    }
    o_proj_ = std::make_unique<Linear>(place / "o_proj", heads_.total * heads_.size,
                                       std::vector<std::int64_t>{hidden},
                                       LinearOptions{.cut = Cut::row, .bias = bias});
    q_norm_.emplace(place / "q_norm", heads_.size);
    rotary_ = get_rope(
        place / "rotary_emb",
        {.head_size = heads_.size, .max_position = c.integer("max_position_embeddings", 131072)},
        RopeParameters::read(c, kind.is_sliding ? "sliding_attention" : "full_attention"));
    attn_ = std::make_unique<Attention>(
        place / "attn", heads_,
        AttentionOptions{.window = kind.window, .shares_cache = shares_cache_});
  }

  Tensor forward(const Tensor& hidden_states) {
    const Tensor projected = (*proj_)(hidden_states);
    const std::int64_t tokens = hidden_states.size(0);
    const auto normed = [&](RMSNorm& norm, std::int64_t heads) {
      const Tensor part = projected.slice(-1, 0, heads * heads_.size);
      return norm(part.view({tokens, heads, heads_.size}));
    };
    Tensor q = normed(*q_norm_, heads_.query);
    Tensor k, v;
    if (k_norm_) k = normed(*k_norm_, heads_.kv);
    if (v_norm_) v = normed(*v_norm_, heads_.kv);
    rotary_->rotate(q, k);
    const Tensor attn_output = (*attn_)(q);
    return (*o_proj_)(attn_output);
  }

 private:
  bool shares_cache_;
  Heads heads_;
  std::unique_ptr<Linear> proj_, o_proj_;
  std::optional<RMSNorm> q_norm_, k_norm_, v_norm_;
  std::shared_ptr<RotaryEmbedding> rotary_;
  std::unique_ptr<Attention> attn_;
};

/// Gemma4Router and the experts behind it, with their norms.
class Gemma4Experts : public nn::Module<Gemma4Experts> {
 public:
  /// Locals of the layer's forward(): they live until it returns.
  struct Held {
    Tensor first, second, logits;
  };

  explicit Gemma4Experts(const Place& layer)
      : Module(layer.scope()),
        norm_(layer / "router" / "norm", hidden(layer), NormKind::rms, false),
        experts_(layer, shape(layer),
                 {.gate_name = "router.proj", .routes_itself = true, .float32_logits = true}),
        after_mlp_(layer / "post_feedforward_layernorm_1", hidden(layer)),
        after_experts_(layer / "post_feedforward_layernorm_2", hidden(layer)),
        before_experts_(layer / "pre_feedforward_layernorm_2", hidden(layer)) {
    const Place router = layer / "router";
    scale_ = router.parameter("scale", {hidden(layer)});
    per_expert_scale_ =
        router.parameter("per_expert_scale", {layer.config().dimension("num_experts")});
    router.scope().buffer("root_size", kernel_output("tensor", {}, layer.runtime().dtype()));
  }

  /// The sum of both, from the MLP's output and the residual that both started from.
  Tensor add_to(const Tensor& mlp_output, const Tensor& residual, Held& held) {
    held.first = after_mlp_(mlp_output);
    held.second = before_experts_(residual);
    held.logits = logits(residual);
    held.second = experts_.run_experts(held.second, held.logits);
    held.second = after_experts_(held.second);
    return held.first.add(held.second);
  }

 private:
  static std::int64_t hidden(const Place& place) { return place.config().dimension("hidden_size"); }
  static ExpertShape shape(const Place& place) {
    const Config& c = place.config();
    return {place.runtime(), c.dimension("num_experts"), c.dimension("top_k_experts"),
            hidden(place), c.dimension({"moe_intermediate_size", "expert_intermediate_size"})};
  }
  Tensor logits(const Tensor& residual) {
    Tensor x = norm_(residual);
    x = x.mul(ghost::kScale);
    x = kernel_output("mul", x.sizes(), x.dtype());
    return experts_.gate(x);
  }

  RMSNorm norm_;
  MoeBlock experts_;
  RMSNorm after_mlp_, after_experts_, before_experts_;
  Tensor scale_, per_expert_scale_;
};

/// per_layer_input_gate and what follows it: the layer's own embedding, gated.
class LayerInput : public nn::Module<LayerInput> {
 public:
  LayerInput(const Place& layer, std::int64_t hidden, std::int64_t width)
      : Module(layer.scope()),
        gate_(layer / "per_layer_input_gate", hidden, {width}, {.cut = Cut::replicated}),
        projection_(layer / "per_layer_projection", width, {hidden}, {.cut = Cut::replicated}),
        norm_(layer / "post_per_layer_input_norm", hidden) {}
  struct Held {
    Tensor gate, gated, contribution;
  };
  void run(const Tensor& hidden_states, Held& held) {
    held.gate = gate_(hidden_states);
    held.gate = kernel_output("gelu", held.gate.sizes(), held.gate.dtype());
    held.gated = kernel_output("mul", held.gate.sizes(), held.gate.dtype());
    held.contribution = projection_(held.gated);
    held.contribution = norm_(held.contribution);
  }

 private:
  Linear gate_, projection_;
  RMSNorm norm_;
};

class Gemma4Layer : public nn::Module<Gemma4Layer> {
 public:
  Gemma4Layer(const Place& place, std::int64_t index, std::int64_t hidden)
      : Module(place.scope()),
        attention_(place / "self_attn", LayerKind(place.config(), index)),
        mlp_(place / "mlp", hidden, LayerKind(place.config(), index).width, MlpOptions{}),
        input_(place / "input_layernorm", hidden),
        after_attention_(place / "post_attention_layernorm", hidden),
        before_mlp_(place / "pre_feedforward_layernorm", hidden),
        after_mlp_(place / "post_feedforward_layernorm", hidden) {
    const Config& c = place.config();
    if (c.optional_integer("num_experts")) experts_.emplace(place);
    const std::int64_t width = c.optional_integer("hidden_size_per_layer_input").value_or(0);
    if (width > 0) layer_input_.emplace(place, hidden, width);
    place.scope().buffer("layer_scalar", kernel_output("ones", {1}, place.runtime().dtype()));
  }

  Tensor forward(const Tensor& input) {
    Tensor residual = input;
    Tensor hidden = input_(residual);
    hidden = attention_(hidden);
    hidden = after_attention_(hidden);
    hidden = hidden.add(residual);
    residual = hidden;
    hidden = before_mlp_(hidden);
    hidden = mlp_(hidden);
    Gemma4Experts::Held held;
    if (experts_) hidden = experts_->add_to(hidden, residual, held);
    hidden = after_mlp_(hidden);
    hidden = hidden.add(residual);
    LayerInput::Held own;
    if (layer_input_) {
      layer_input_->run(hidden, own);
      hidden = hidden.add(own.contribution);
    }
    return hidden.mul(ghost::kScale);
  }

 private:
  Gemma4Attention attention_;
  GatedMlp mlp_;
  RMSNorm input_, after_attention_, before_mlp_, after_mlp_;
  std::optional<Gemma4Experts> experts_;
  std::optional<LayerInput> layer_input_;
};

class Gemma4 final : public ServedModel {
 public:
  explicit Gemma4(const Place& place)
      : runtime_(place.runtime()), hidden_(place.config().dimension("hidden_size")) {
    const Config& c = place.config();
    const Place body = place / "model";
    const std::int64_t vocabulary = c.dimension("vocab_size");
    if (runtime_.parallel().pp > 1)
      ghost::session().fail({ErrorKind::unsupported, "stages of Gemma 4 are not modelled",
                             "--pipeline-parallel-size", "1"});
    embedding_.emplace(body / "embed_tokens", vocabulary, hidden_);
    layers_count_ = c.layers("num_hidden_layers");
    make_layer_embeddings(body, vocabulary);
    for (std::int64_t i = 0; i < layers_count_; ++i) {
      layers_.emplace_back(body / "layers" / i, i, hidden_);
      offload_layers(body, "layers");
    }
    norm_.emplace(body / "norm", hidden_);
    scalar(body, "normalizer");
    head_.emplace(place / "lm_head", vocabulary, hidden_);
    if (ties_head(c)) head_->tie(embedding_->table());
    soft_caps_ = c.optional_number("final_logit_softcapping").has_value();
  }

  Tensor forward(const Tensor& input_ids, const Stream&) override {
    Tensor hidden = (*embedding_)(input_ids).mul(ghost::kScale);
    const Tensor per_layer = per_layer_inputs(input_ids, hidden);
    for (Gemma4Layer& layer : layers_) hidden = layer(hidden);
    return (*norm_)(hidden);
  }
  Tensor compute_logits(const Tensor& hidden_states) override {
    return head_->logits(hidden_states, soft_caps_);
  }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  void scalar(const Place& body, const char* name) const {
    body.scope().buffer(name, kernel_output("tensor", {}, runtime_.dtype()));
  }
  void make_layer_embeddings(const Place& body, std::int64_t vocabulary) {
    const Config& c = body.config();
    own_width_ = c.optional_integer("hidden_size_per_layer_input").value_or(0);
    if (own_width_ == 0) return;
    const std::int64_t all = own_width_ * layers_count_;
    own_embedding_.emplace(body / "embed_tokens_per_layer",
                           c.optional_dimension("vocab_size_per_layer_input").value_or(vocabulary),
                           all);
    scalar(body, "embed_scale_per_layer");
    own_projection_ = std::make_unique<Linear>(body / "per_layer_model_projection", hidden_,
                                               std::vector<std::int64_t>{all}, LinearOptions{});
    own_norm_.emplace(body / "per_layer_projection_norm", own_width_);
    scalar(body, "per_layer_input_scale");
    scalar(body, "per_layer_projection_scale");
  }
  /// get_per_layer_inputs and project_per_layer_inputs.
  Tensor per_layer_inputs(const Tensor& input_ids, const Tensor& embeds) {
    if (!own_embedding_) return {};
    const std::int64_t tokens = input_ids.size(0);
    Tensor looked_up;
    {
      const Tensor mask = kernel_output("logical_and", {tokens}, DType::boolean);
      const Tensor ids = kernel_output("where", {tokens}, input_ids.dtype());
      looked_up = (*own_embedding_)(ids);
      looked_up = looked_up.mul(ghost::kScale);
    }
    Tensor projected = (*own_projection_)(embeds);
    if (runtime_.tp() > 1) projected = all_gather_last(runtime_, projected);
    projected = projected.mul(ghost::kScale);
    projected = (*own_norm_)(projected);
    return projected.add(looked_up).mul(ghost::kScale);
  }

  Runtime& runtime_;
  std::int64_t hidden_, layers_count_ = 0, own_width_ = 0;
  bool soft_caps_ = false;
  std::optional<VocabParallelEmbedding> embedding_, own_embedding_;
  std::unique_ptr<Linear> own_projection_;
  std::optional<RMSNorm> own_norm_, norm_;
  std::deque<Gemma4Layer> layers_;
  std::optional<ParallelLMHead> head_;
};

}  // namespace

std::unique_ptr<ServedModel> make_gemma4(const Place& place) {
  return std::make_unique<Gemma4>(place);
}

}  // namespace memtape::vllm
