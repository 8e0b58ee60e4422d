// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/transformers_backend.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/tied_head.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "model/type_of.h"
#include "nn/activations.h"

namespace memtape::vllm {
namespace {

/// What the layers of these models differ in.
struct Traits {
  bool rms = false;  ///< else LayerNorm with a bias
  bool qkv_bias = true, output_bias = true, mlp_bias = true;
  bool gated = false;               ///< gate and up fused, SiluAndMul
  bool full_width_norms = false;    ///< norms of all queries, of all keys (OLMo 2)
  bool post_norms = false;          ///< after the blocks in place of before (OLMo 2)
  bool parallel = false;            ///< attention and MLP side by side (GPT-NeoX, Phi)
  bool one_norm = false;            ///< and one norm for both (Phi)
  bool plain_norms = false;         ///< LayerNorm in float32, without weights (OLMo)
  bool some_without_rope = false;   ///< no_rope_layers (SmolLM 3)
  bool float32_rope = false;        ///< cos and sin stay float32 (OLMo 2)
  bool packed_qkv = false;          ///< one projection with heads interleaved (GPT-NeoX)
  const char* activation = "gelu";  ///< where the configuration does not say
  double rotary = 1;
};

/// transformers' cos and sin of one rope, for a whole batch.
struct CosSin {
  Tensor cos, sin;
};

CosSin make_cos_sin(std::int64_t tokens, std::int64_t width, bool keeps_float32, DType dtype) {
  const Dims full{tokens, width};
  Tensor freqs;
  {
    const Tensor positions = kernel_output("to", {tokens}, DType::float32);
    freqs = kernel_output("matmul", {tokens, width / 2}, DType::float32);
  }
  const Tensor emb = kernel_output("cat", full, DType::float32);
  Tensor cos = kernel_output("cos", full, DType::float32);
  cos = kernel_output("mul", full, DType::float32);
  Tensor sin = kernel_output("sin", full, DType::float32);
  sin = kernel_output("mul", full, DType::float32);
  if (keeps_float32) return {cos, sin};
  const Tensor low_cos = cos.to(dtype);
  const Tensor low_sin = sin.to(dtype);
  return {low_cos, low_sin};
}

/// x * cos + rotate_half(x) * sin on [heads, tokens, width].
Tensor rotated(const Tensor& x, const CosSin& rope) {
  const std::int64_t width = x.size(2);
  Tensor product = x.mul(rope.cos);
  const auto rotate_half = [&] {
    const Tensor x1 = x.slice(-1, 0, width / 2);
    return ghost::cat({x.slice(-1, width / 2, width).neg(), x1}, -1);
  };
  return std::move(product).add(rotate_half().mul(rope.sin));
}

class BackendAttention : public nn::Module<BackendAttention> {
 public:
  BackendAttention(const Place& place, const Traits& traits, const Heads& heads,
                   std::int64_t hidden)
      : Module(place.scope()), traits_(traits), heads_(heads) {
    qkv_proj_ = qkv_linear(place / "qkv_proj", hidden, heads, {.bias = traits.qkv_bias});
    o_proj_ = std::make_unique<Linear>(place / "o_proj", heads.total * heads.size,
                                       std::vector<std::int64_t>{hidden},
                                       LinearOptions{.cut = Cut::row, .bias = traits.output_bias});
    if (!traits.full_width_norms) return;
    q_norm_.emplace(place / "q_norm", heads.q_size());
    k_norm_.emplace(place / "k_norm", heads.kv_size());
  }

  /// Made when all modules are: _create_attention_instances.
  void make_attention(const Place& place, std::int64_t window) {
    attn_ = std::make_unique<Attention>(place, heads_, AttentionOptions{.window = window});
  }

  void leave_out_rope() { has_rope_ = false; }

  Tensor run(const Tensor& hidden_states, const CosSin& rope) {
    const ghost::ScopeGuard guard(node().scope);
    const std::int64_t tokens = hidden_states.size(0);
    const Tensor qkv = (*qkv_proj_)(hidden_states);
    const std::int64_t q_size = heads_.q_size(), kv_size = heads_.kv_size();
    Tensor q = qkv.slice(-1, 0, q_size);
    Tensor k = qkv.slice(-1, q_size, q_size + kv_size);
    Tensor v = qkv.slice(-1, q_size + kv_size, q_size + 2 * kv_size);
    if (q_norm_) q = (*q_norm_)(q);
    if (k_norm_) k = (*k_norm_)(k);
    q = q.view({tokens, heads_.query, heads_.size}).transpose(0, 1);
    k = k.view({tokens, heads_.kv, heads_.size}).transpose(0, 1);
    v = v.view({tokens, heads_.kv, heads_.size}).transpose(0, 1);
    if (has_rope_) rotate(q, k, rope);
    const Tensor attn_output = attend(q, k, v);
    return (*o_proj_)(attn_output);
  }

 private:
  /// apply_rotary_pos_emb: both made before either name is bound again.
  void rotate(Tensor& q, Tensor& k, const CosSin& rope) const {
    const std::int64_t width = rope.cos.size(1);
    if (width < heads_.size) return rotate_part(q, k, rope, width);
    Tensor q_embed = rotated(q, rope);
    Tensor k_embed = rotated(k, rope);
    if (q_embed.dtype() != q.dtype()) {
      const Tensor low_q = q_embed.to(q.dtype());
      const Tensor low_k = k_embed.to(k.dtype());
      q_embed = low_q;
      k_embed = low_k;
    }
    q = q_embed;
    k = k_embed;
  }
  void rotate_part(Tensor& q, Tensor& k, const CosSin& rope, std::int64_t width) const {
    Tensor q_rot = rotated(q.slice(-1, 0, width), rope);
    Tensor k_rot = rotated(k.slice(-1, 0, width), rope);
    q = ghost::cat({q_rot, q.slice(-1, width, heads_.size)}, -1);
    q_rot.reset();
    k = ghost::cat({k_rot, k.slice(-1, width, heads_.size)}, -1);
  }

  /// vllm_attention_forward: back to rows of tokens, a copy where the layout does not allow a view.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto rows = [](const Tensor& x) {
      const Tensor turned = x.transpose(0, 1);
      return turned.reshape({turned.size(0), turned.size(1) * turned.size(2)});
    };
    if (!traits_.packed_qkv) return (*attn_)(rows(q));
    const Dims sizes{q.size(1), q.size(0) * q.size(2)};
    const Tensor query = kernel_output("reshape", sizes, q.dtype());
    const Tensor key = kernel_output("reshape", {k.size(1), k.size(0) * k.size(2)}, k.dtype());
    const Tensor value = kernel_output("reshape", {v.size(1), v.size(0) * v.size(2)}, v.dtype());
    return (*attn_)(query);
  }

  Traits traits_;
  Heads heads_;
  std::unique_ptr<Linear> qkv_proj_, o_proj_;
  std::optional<RMSNorm> q_norm_, k_norm_;
  std::unique_ptr<Attention> attn_;
  bool has_rope_ = true;
};

class BackendMlp : public nn::Module<BackendMlp> {
 public:
  BackendMlp(const Place& place, const Traits& traits, std::int64_t hidden, std::int64_t width)
      : Module(place.scope()), gated_(traits.gated) {
    if (!gated_) activation_ = activation(place.config(), traits.activation);
    up_ = std::make_unique<Linear>(
        place / "up_proj", hidden,
        gated_ ? std::vector<std::int64_t>{width, width} : std::vector<std::int64_t>{width},
        LinearOptions{.bias = traits.mlp_bias});
    down_ = std::make_unique<Linear>(place / "down_proj", width, std::vector<std::int64_t>{hidden},
                                     LinearOptions{.cut = Cut::row, .bias = traits.mlp_bias});
  }
  Tensor forward(const Tensor& x) {
    Tensor wide = (*up_)(x);
    if (activation_)
      wide = (*activation_)(wide);
    else
      wide = kernel_output("act_and_mul", {wide.size(0), wide.size(1) / 2}, wide.dtype());
    return (*down_)(wide);
  }

 private:
  /// transformers' own module: some are one kernel, some a line of Python.
  static std::optional<nn::Activation> activation(const Config& c, const char* usual) {
    const std::string name = c.text("hidden_act", usual);
    auto found = nn::Activation::from_name(name);
    if (!found)
      ghost::session().fail({ErrorKind::unsupported, "activation " + name + " is not modelled",
                             c.where() + ": hidden_act", "one of transformers' activations"});
    return found;
  }

  bool gated_;
  std::optional<nn::Activation> activation_;
  std::unique_ptr<Linear> up_, down_;
};

class BackendNorm {
 public:
  BackendNorm(const Place& place, const Traits& traits, std::int64_t width) {
    if (traits.plain_norms) return;
    if (traits.rms)
      rms_.emplace(place, width);
    else
      layer_.emplace(place, width);
  }
  Tensor operator()(const Tensor& x) {
    if (rms_) return (*rms_)(x);
    return layer_ ? (*layer_)(x) : in_float32(x);
  }

 private:
  /// OlmoLayerNorm: F.layer_norm of the input in float32, cast back.
  static Tensor in_float32(const Tensor& x) {
    const Tensor wide = x.to_float();
    const Tensor normed = ghost::layer_norm(wide, {}, {});
    return normed.to(x.dtype());
  }

  std::optional<RMSNorm> rms_;
  std::optional<LayerNorm> layer_;
};

class BackendLayer : public nn::Module<BackendLayer> {
 public:
  BackendLayer(const Place& place, const Traits& traits, std::int64_t hidden, std::int64_t width)
      : Module(place.scope()), traits_(traits) {
    const bool norms_first = traits.packed_qkv;
    if (norms_first) make_norms(place, hidden);
    attention_.emplace(place / "self_attn", traits, config_heads(place), hidden);
    mlp_.emplace(place / "mlp", traits, hidden, width);
    if (!norms_first) make_norms(place, hidden);
  }

  BackendAttention& attention() { return *attention_; }

  Tensor run(const Tensor& input, const CosSin& rope) {
    const ghost::ScopeGuard guard(node().scope);
    if (traits_.parallel) return parallel(input, rope);
    return traits_.post_norms ? post_norm(input, rope) : pre_norm(input, rope);
  }

 private:
  void make_norms(const Place& place, std::int64_t hidden) {
    norms_.emplace_back(place / "input_layernorm", traits_, hidden);
    if (!traits_.one_norm) norms_.emplace_back(place / "post_attention_layernorm", traits_, hidden);
  }

  Tensor pre_norm(const Tensor& input, const CosSin& rope) {
    Tensor residual = input;
    Tensor hidden = norms_[0](input);
    hidden = attention_->run(hidden, rope);
    hidden = residual.add(hidden);
    residual = hidden;
    hidden = norms_[1](hidden);
    hidden = (*mlp_)(hidden);
    return residual.add(hidden);
  }
  Tensor post_norm(const Tensor& input, const CosSin& rope) {
    Tensor residual = input;
    Tensor hidden = attention_->run(input, rope);
    hidden = norms_[0](hidden);
    hidden = residual.add(hidden);
    residual = hidden;
    hidden = (*mlp_)(hidden);
    hidden = norms_[1](hidden);
    return residual.add(hidden);
  }
  Tensor parallel(const Tensor& input, const CosSin& rope) {
    if (traits_.one_norm) {
      const Tensor hidden = norms_[0](input);
      const Tensor attn = attention_->run(hidden, rope);
      const Tensor feed_forward = (*mlp_)(hidden);
      return attn.add(feed_forward).add(input);
    }
    Tensor attn;
    {
      const Tensor hidden = norms_[0](input);
      attn = attention_->run(hidden, rope);
    }
    const Tensor mlp = (*mlp_)(norms_[1](input));
    return mlp.add(attn).add(input);
  }

  Traits traits_;
  std::optional<BackendAttention> attention_;
  std::optional<BackendMlp> mlp_;
  std::deque<BackendNorm> norms_;
};

class BackendDecoder final : public ServedModel {
 public:
  BackendDecoder(const Place& place, const Traits& traits)
      : traits_(traits),
        runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")),
        width_(place.config().optional_dimension("intermediate_size").value_or(4 * hidden_)),
        head_size_(config_heads(place).size) {
    const Config& c = place.config();
    const std::int64_t layers = c.layers("num_hidden_layers");
    make_and_drop(layers);
    const Place body = place / "model";
    const std::int64_t vocabulary = c.dimension("vocab_size");
    const Parallel& parallel = runtime_.parallel();
    embedding_.emplace(body / "embed_tokens", vocabulary, hidden_);
    const StageLayers range = stage_layers(parallel, layers);
    for (std::int64_t i = range.first; i < range.last; ++i) {
      layers_.emplace_back(body / "layers" / i, traits_, hidden_, width_);
      offload_layers(body, "layers");
    }
    norm_.emplace(body / "norm", traits_, hidden_);
    for (std::int64_t i = range.first; i < range.last; ++i)
      layers_[static_cast<std::size_t>(i - range.first)].attention().make_attention(
          place / "attention" / i, window_of(c, i));
    for (std::int64_t i = range.first; i < range.last; ++i)
      if (traits_.some_without_rope && !has_rope(c, i))
        layers_[static_cast<std::size_t>(i - range.first)].attention().leave_out_rope();
    head_.emplace(place / "lm_head", vocabulary, hidden_);
    if (ties_head(c)) head_->tie(embedding_->table());
    ropes_ = count_ropes(c);
    for (std::int64_t i = 0; i < ropes_; ++i)
      for (const char* name : {"inv_freq", "original_inv_freq"})
        (body / "rotary_emb" / i)
            .scope()
            .buffer(name, kernel_output("to", {rotary_width() / 2}, DType::float32));
  }

  Tensor forward(const Tensor& input_ids, const Stream& input) override {
    Tensor hidden = input.hidden;
    if (runtime_.parallel().first_stage()) hidden = (*embedding_)(input_ids);
    const Tensor inputs_embeds = hidden;  // a local of the model's forward()
    std::vector<CosSin> ropes;
    for (std::int64_t i = 0; i < ropes_; ++i)
      ropes.push_back(
          make_cos_sin(hidden.size(0), rotary_width(), traits_.float32_rope, runtime_.dtype()));
    for (BackendLayer& layer : layers_) hidden = layer.run(hidden, ropes.front());
    return runtime_.parallel().last_stage() ? (*norm_)(hidden) : hidden;
  }
  Tensor compute_logits(const Tensor& hidden_states) override {
    return head_->logits(hidden_states, false);
  }
  int intermediate_tensors() const override { return 1; }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  std::int64_t rotary_width() const {
    return static_cast<std::int64_t>(static_cast<double>(head_size_) * traits_.rotary);
  }
  /// Olmo3Config has both kinds of layers where the file does not say.
  static std::int64_t count_ropes(const Config& c) {
    std::vector<std::string> types = c.texts("layer_types");
    if (types.empty()) return is_olmo3(c) ? 2 : 1;
    std::ranges::sort(types);
    const auto rest = std::ranges::unique(types);
    return static_cast<std::int64_t>(types.size() - rest.size());
  }
  /// SmolLM3Config: every fourth layer has none where the file does not say.
  static bool has_rope(const Config& c, std::int64_t layer) {
    const std::vector<std::int64_t> has = c.integers("no_rope_layers");
    const auto at = static_cast<std::size_t>(layer);
    if (at < has.size()) return has[at] != 0;
    return (layer + 1) % c.integer("no_rope_layer_interval", 4) != 0;
  }
  static bool is_olmo3(const Config& c) { return type_of(c) == "olmo3"; }
  static std::int64_t window_of(const Config& c, std::int64_t layer) {
    constexpr std::int64_t kEveryFull = 4;
    if (!is_olmo3(c) || c.has("layer_types")) return layer_window(c, layer);
    return (layer + 1) % kEveryFull == 0 ? AttentionOptions::kFull
                                         : c.integer("sliding_window", 4096);
  }

  /// init_on_device_without_buffers("meta"): each parameter is made, then moved off the device.
  void make_and_drop(std::int64_t layers) const {
    const Config& c = runtime_.config;
    const std::int64_t heads = c.dimension("num_attention_heads");
    const std::int64_t kv = c.optional_dimension("num_key_value_heads").value_or(heads);
    const auto drop = [&](std::int64_t rows, std::int64_t columns = 1) {
      kernel_output("empty", {rows, columns}, runtime_.dtype());
    };
    const auto linear = [&](std::int64_t out, std::int64_t in, bool bias) {
      drop(out, in);
      if (bias) drop(out);
    };
    drop(c.dimension("vocab_size"), hidden_);
    for (std::int64_t i = 0; i < layers; ++i) {
      if (traits_.packed_qkv) {
        linear(3 * hidden_, hidden_, traits_.qkv_bias);
      } else {
        linear(heads * head_size_, hidden_, traits_.qkv_bias);
        linear(kv * head_size_, hidden_, traits_.qkv_bias);
        linear(kv * head_size_, hidden_, traits_.qkv_bias);
      }
      linear(hidden_, heads * head_size_, traits_.output_bias);
      linear(width_, hidden_, traits_.mlp_bias);
      if (traits_.gated) linear(width_, hidden_, traits_.mlp_bias);
      linear(hidden_, width_, traits_.mlp_bias);
      for (int norm = 0; norm < (traits_.one_norm ? 1 : 2); ++norm)
        if (!traits_.plain_norms) linear(hidden_, 1, !traits_.rms);
    }
    if (!traits_.plain_norms) linear(hidden_, 1, !traits_.rms);
  }

  Traits traits_;
  Runtime& runtime_;
  std::int64_t hidden_, width_, head_size_;
  std::int64_t ropes_ = 1;
  std::optional<VocabParallelEmbedding> embedding_;
  std::deque<BackendLayer> layers_;
  std::optional<BackendNorm> norm_;
  std::optional<ParallelLMHead> head_;
};

double rotary_part(const Config& c, double otherwise) {
  const double given = RopeParameters::read(c).partial_rotary_factor;
  return given == 1 ? otherwise : given;
}

}  // namespace

std::unique_ptr<ServedModel> make_olmo2(const Place& place) {
  const bool bias = place.config().boolean("attention_bias", false);
  return std::make_unique<BackendDecoder>(place, Traits{.rms = true,
                                                        .qkv_bias = bias,
                                                        .output_bias = bias,
                                                        .mlp_bias = false,
                                                        .gated = true,
                                                        .full_width_norms = true,
                                                        .post_norms = true,
                                                        .float32_rope = true});
}

std::unique_ptr<ServedModel> make_starcoder2(const Place& place) {
  const bool bias = place.config().boolean("use_bias", true);
  return std::make_unique<BackendDecoder>(
      place, Traits{.qkv_bias = bias, .output_bias = bias, .mlp_bias = bias});
}

std::unique_ptr<ServedModel> make_gpt_neox(const Place& place) {
  const bool bias = place.config().boolean("attention_bias", true);
  return std::make_unique<BackendDecoder>(
      place, Traits{.qkv_bias = bias,
                    .output_bias = bias,
                    .parallel = place.config().boolean("use_parallel_residual", true),
                    .packed_qkv = true,
                    .rotary = rotary_part(place.config(), 0.25)});
}

std::unique_ptr<ServedModel> make_smollm3(const Place& place) {
  const bool bias = place.config().boolean("attention_bias", false);
  return std::make_unique<BackendDecoder>(
      place, Traits{.rms = true,
                    .qkv_bias = bias,
                    .output_bias = bias,
                    .mlp_bias = place.config().boolean("mlp_bias", false),
                    .gated = true,
                    .some_without_rope = true});
}

std::unique_ptr<ServedModel> make_olmo(const Place& place) {
  const bool bias = place.config().boolean("attention_bias", false);
  return std::make_unique<BackendDecoder>(place, Traits{.qkv_bias = bias,
                                                        .output_bias = bias,
                                                        .mlp_bias = false,
                                                        .gated = true,
                                                        .plain_norms = true,
                                                        .float32_rope = true});
}

std::unique_ptr<ServedModel> make_arcee(const Place& place) {
  const bool bias = place.config().boolean("attention_bias", false);
  return std::make_unique<BackendDecoder>(
      place, Traits{.rms = true,
                    .qkv_bias = bias,
                    .output_bias = bias,
                    .mlp_bias = place.config().boolean("mlp_bias", false),
                    .activation = "relu2"});
}

std::unique_ptr<ServedModel> make_seed_oss(const Place& place) {
  return std::make_unique<BackendDecoder>(
      place, Traits{.rms = true,
                    .qkv_bias = place.config().boolean("attention_bias", true),
                    .output_bias = place.config().boolean("attention_out_bias", false),
                    .mlp_bias = place.config().boolean("mlp_bias", false),
                    .gated = true});
}

std::unique_ptr<ServedModel> make_phi(const Place& place) {
  return std::make_unique<BackendDecoder>(place,
                                          Traits{.parallel = true,
                                                 .one_norm = true,
                                                 .activation = "gelu_new",
                                                 .rotary = rotary_part(place.config(), 0.5)});
}

}  // namespace memtape::vllm
