// SPDX-License-Identifier: Apache-2.0
#include "time/model_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "family/registry.h"
#include "model/layer_letters.h"
#include "model/type_of.h"

namespace memtape::time {
namespace {

using ShapeKind = AttentionShape::Kind;

/// Families with a feed-forward of four times the hidden size where the configuration has none.
std::int64_t feed_forward_width(const Config& c, std::int64_t hidden) {
  if (c.has("intermediate_size_mlp")) return c.dimension("intermediate_size_mlp");
  for (const char* key :
       {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_ff", "decoder_ffn_dim"})
    if (const auto width = c.optional_integer(key)) return *width;
  return 4 * hidden;
}

AttentionShape latent_attention(const Config& c, AttentionShape a) {
  a.kind = ShapeKind::latent;
  a.q_rank = c.optional_integer("q_lora_rank").value_or(0);
  a.kv_rank = c.dimension("kv_lora_rank");
  a.rope_dim = c.dimension("qk_rope_head_dim", 64);
  a.head_dim = c.dimension("qk_nope_head_dim", 128) + a.rope_dim;
  a.value_head_dim = c.dimension("v_head_dim", 128);
  a.kv_heads = a.heads;
  return a;
}

AttentionShape attention(const Config& c, std::int64_t hidden) {
  AttentionShape a;
  a.heads = c.dimension({"num_attention_heads", "n_head", "n_heads", "num_heads"}, 1);
  a.kv_heads = a.heads;
  for (const char* key : {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"})
    if (const auto heads = c.optional_integer(key)) a.kv_heads = std::max<std::int64_t>(*heads, 1);
  if (c.boolean("multi_query", false) && !c.boolean("new_decoder_architecture", false))
    a.kv_heads = 1;
  a.head_dim = std::max<std::int64_t>(hidden / a.heads, 1);
  for (const char* key : {"kv_channels", "attention_head_dim", "d_kv", "head_dim"})
    if (const auto dim = c.optional_integer(key)) a.head_dim = std::max<std::int64_t>(*dim, 1);
  a.value_head_dim = a.head_dim;
  a.has_bias = c.boolean("attention_bias", false);
  if (c.optional_integer("kv_lora_rank")) a = latent_attention(c, a);
  a.top_tokens = c.count("index_topk", 0);
  a.index_heads = c.count("index_n_heads", 0);
  a.index_dim = c.count("index_head_dim", 0);
  return a;
}

MlpShape feed_forward(const Config& c, std::int64_t hidden, std::string_view family) {
  MlpShape m;
  m.width = feed_forward_width(c, hidden);
  m.clamps = c.has("swiglu_limit");
  if (family == "qwen") m.width /= 2;  // its config counts gate and up together
  for (const char* key :
       {"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"})
    if (const auto experts = c.optional_integer(key))
      m.experts = std::max<std::int64_t>(*experts, 0);
  if (m.experts <= 1) m.experts = 0;
  if (m.experts == 0) return m;
  for (const char* key : {"moe_k", "moe_topk", "experts_per_token", "num_selected_experts",
                          "num_experts_per_tok", "top_k_experts"})
    if (const auto k = c.optional_integer(key)) m.top_k = std::max<std::int64_t>(*k, 1);
  m.top_k = std::max<std::int64_t>(m.top_k, 1);
  if (c.count("n_group", 1) > 1) m.top_groups = c.count("topk_group", 0);
  m.expert_width = m.width;
  if (family == "llama4_text") m.expert_width = c.dimension("intermediate_size");
  if (const auto width = c.optional_integer("moe_intermediate_size")) m.expert_width = *width;
  const std::int64_t shared = c.count("n_shared_experts", c.count("moe_num_shared_experts", 0));
  m.shared_width = c.count({"shared_expert_intermediate_size", "shared_intermediate_size",
                            "moe_shared_expert_intermediate_size"},
                           shared * m.expert_width);
  if (family == "llama4_text") m.shared_width = m.expert_width;
  return m;
}

/// Which layers are mixtures, by the configurations' several ways to say it.
bool is_mixture(const Config& c, std::int64_t layer) {
  if (const auto dense = c.optional_integer("first_k_dense_replace"))
    if (layer < *dense) return false;
  if (const auto first = c.optional_integer("moe_layer_start_index"))
    if (layer < *first) return false;
  if (const auto dense = c.integers("mlp_only_layers"); !dense.empty())
    if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  const std::int64_t step = c.count("interleave_moe_layer_step", c.count("decoder_sparse_step", 1));
  return step <= 1 || (layer + 1) % step == 0;
}

AttentionShape linear_attention(const Config& c, AttentionShape a) {
  const std::int64_t key_heads = c.dimension("linear_num_key_heads", a.kv_heads);
  a.kind = ShapeKind::linear;
  a.head_dim = c.dimension("linear_key_head_dim", 128);
  a.heads = c.dimension("linear_num_value_heads", a.heads);
  a.value_head_dim = c.dimension("linear_value_head_dim", 128);
  a.kv_heads = key_heads;
  a.in_width = 2 * key_heads * a.head_dim + 2 * a.heads * a.value_head_dim + 2 * a.heads;
  return a;
}

AttentionShape state_space(const Config& c) {
  AttentionShape a;
  a.kind = ShapeKind::linear;
  a.heads = c.dimension({"mamba_num_heads", "num_heads"}, 128);
  a.value_head_dim = c.dimension({"mamba_head_dim", "head_dim"}, 64);
  a.head_dim = c.dimension({"ssm_state_size", "state_size"}, 128);
  a.kv_heads = c.dimension("n_groups", 8);
  a.in_width = 2 * a.heads * a.value_head_dim + 2 * a.kv_heads * a.head_dim + a.heads;
  return a;
}

/// One layer of transformers' lists of kinds: "full_attention", "sliding_attention" ...
AttentionShape attention_of_kind(const Config& c, const AttentionShape& full,
                                 const std::string& kind) {
  AttentionShape a = full;
  if (kind == "linear_attention") return linear_attention(c, full);
  if (kind == "sliding_attention" || kind == "chunked_attention")
    a.window = c.count({"sliding_window", "attention_chunk_size"}, 0);
  return a;
}

std::vector<std::string> kinds_of_layers(const Config& c, std::int64_t layers) {
  std::vector<std::string> kinds = c.texts("layer_types");
  if (static_cast<std::int64_t>(kinds.size()) == layers) return kinds;
  kinds.assign(static_cast<std::size_t>(layers), "full_attention");
  const std::int64_t full_every = c.count("full_attention_interval", 0);
  const std::int64_t pattern = c.count({"sliding_window_pattern", "_sliding_window_pattern"}, 0);
  const bool slides =
      c.optional_integer("sliding_window").value_or(0) > 0 && c.boolean("use_sliding_window", true);
  for (std::int64_t i = 0; i < layers; ++i) {
    std::string& kind = kinds[static_cast<std::size_t>(i)];
    if (full_every > 0 && (i + 1) % full_every != 0) kind = "linear_attention";
    if (slides && (pattern == 0 || (i + 1) % pattern != 0)) kind = "sliding_attention";
  }
  return kinds;
}

bool same(const LayerShape& a, const LayerShape& b) {
  const auto attention = [](const AttentionShape& x) {
    return std::array{static_cast<std::int64_t>(x.kind),
                      x.heads,
                      x.kv_heads,
                      x.head_dim,
                      x.value_head_dim,
                      x.window,
                      x.in_width,
                      x.kv_rank};
  };
  const auto mlp = [](const MlpShape& x) {
    return std::array{x.width, x.experts, x.top_k, x.expert_width, x.shared_width};
  };
  return attention(a.attention) == attention(b.attention) && mlp(a.mlp) == mlp(b.mlp);
}

/// Equal layers that follow each other become one entry with a count.
std::vector<LayerShape> counted(const std::vector<LayerShape>& layers) {
  std::vector<LayerShape> counted;
  for (const LayerShape& layer : layers)
    if (!counted.empty() && same(counted.back(), layer))
      ++counted.back().count;
    else
      counted.push_back(layer);
  return counted;
}

/// Nemotron-H's.
std::vector<LayerShape> layers_of_letters(const Config& c, const AttentionShape& full,
                                          const MlpShape& mlp) {
  std::vector<LayerShape> layers;
  for (const char letter : layer_letters(c)) {
    LayerShape layer;
    layer.attention.kind = ShapeKind::none;
    layer.attention.heads = layer.attention.kv_heads = 0;
    layer.mlp = {};
    if (letter == 'M') layer.attention = state_space(c);
    if (letter == '*') layer.attention = full;
    if (letter == '-') {
      layer.mlp = mlp;
      layer.mlp.experts = 0;
    }
    if (letter == 'E') {
      layer.mlp = mlp;
      layer.mlp.width = 0;
    }
    layers.push_back(layer);
  }
  return layers;
}

std::vector<LayerShape> layers_of(const Config& c, std::int64_t hidden, std::string_view family) {
  const AttentionShape full = attention(c, hidden);
  const MlpShape mlp = feed_forward(c, hidden, family);
  if (family == "nemotron_h") return layers_of_letters(c, full, mlp);
  const std::int64_t count = c.layers({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  const std::vector<std::string> kinds = kinds_of_layers(c, count);
  std::vector<LayerShape> layers;
  for (std::int64_t i = 0; i < count; ++i) {
    LayerShape layer{.count = 1,
                     .attention = attention_of_kind(c, full, kinds[static_cast<std::size_t>(i)]),
                     .mlp = mlp};
    if (family == "mamba2") {
      layer.attention = state_space(c);
      layer.mlp = {};
    }
    if (mlp.is_mixture() && is_mixture(c, i))
      layer.mlp.width = 0;
    else
      layer.mlp.experts = 0;
    layers.push_back(layer);
  }
  return layers;
}

double matrices(const AttentionShape& a, double hidden) {
  const auto heads = static_cast<double>(a.heads), kv = static_cast<double>(a.kv_heads);
  const auto d = static_cast<double>(a.head_dim), dv = static_cast<double>(a.value_head_dim);
  switch (a.kind) {
    case ShapeKind::none: return 0;
    case ShapeKind::linear: return hidden * static_cast<double>(a.in_width) + heads * dv * hidden;
    case ShapeKind::latent: {
      const auto q = static_cast<double>(a.q_rank), r = static_cast<double>(a.kv_rank);
      const auto rope = static_cast<double>(a.rope_dim);
      const double queries = q > 0 ? hidden * q + q * heads * d : hidden * heads * d;
      const double index = static_cast<double>(a.index_heads * a.index_dim) * (q > 0 ? q : hidden) +
                           hidden * static_cast<double>(a.index_dim + a.index_heads);
      return queries + hidden * (r + rope) + r * heads * (d - rope + dv) + heads * dv * hidden +
             (a.top_tokens > 0 ? index : 0);
    }
    case ShapeKind::multi_head: break;
  }
  return hidden * heads * d + hidden * kv * (d + dv) + heads * dv * hidden;
}

double matrices(const MlpShape& m, double hidden, bool active) {
  const double per = m.gated ? 3 : 2;
  if (!m.is_mixture()) return per * hidden * static_cast<double>(m.width);
  const auto experts = static_cast<double>(active ? m.top_k : m.experts);
  return per * hidden *
             (experts * static_cast<double>(m.expert_width) + static_cast<double>(m.shared_width)) +
         hidden * static_cast<double>(m.experts);
}

}  // namespace

std::int64_t ModelShape::layer_count() const {
  std::int64_t count = 0;
  for (const LayerShape& layer : layers) count += layer.count;
  return count;
}

double ModelShape::layer_parameters(const LayerShape& layer) const {
  const auto h = static_cast<double>(hidden);
  return matrices(layer.attention, h) + matrices(layer.mlp, h, false);
}

double ModelShape::layer_active_parameters(const LayerShape& layer) const {
  const auto h = static_cast<double>(hidden);
  return matrices(layer.attention, h) + matrices(layer.mlp, h, true);
}

double ModelShape::parameters() const {
  double sum = static_cast<double>(hidden * vocab) * (tied ? 1 : 2);
  for (const LayerShape& layer : layers)
    sum += static_cast<double>(layer.count) * layer_parameters(layer);
  return sum;
}

double ModelShape::active_parameters() const {
  auto sum = static_cast<double>(hidden * vocab);
  for (const LayerShape& layer : layers)
    sum += static_cast<double>(layer.count) * layer_active_parameters(layer);
  return sum;
}

namespace {

/// Encoders beside decoders, images and sounds are not modelled.
bool reads_text_in_one_stack(const family::FamilyFacts& facts) {
  return facts.task == family::Task::causal_lm || facts.task == family::Task::masked_lm ||
         facts.task == family::Task::image_text_to_text;
}

/// Scans and convolutions over tokens take the place of attention in some layers at least.
bool mixes_unlike(const family::FamilyFacts& facts, const std::vector<LayerShape>& layers) {
  const bool has_states = facts.modeling.states == family::States::of_scan ||
                          facts.modeling.states == family::States::of_convolution;
  return has_states && std::ranges::none_of(layers, [](const LayerShape& layer) {
           return layer.attention.kind == ShapeKind::linear;
         });
}

/// How far the matrices that are timed may be from those of the layer, as a share: what is timed
/// leaves out small ones, such as those of convolutions.
constexpr double kMostOff = 0.1;

/// What the layers of the built model say of themselves goes before the configuration.
class LayersAsBuilt {
 public:
  LayersAsBuilt(ModelShape& shape, const BuiltModel& model, const std::vector<BuiltLayer>& stack)
      : shape_(shape), stack_(stack) {
    if (model.windows.size() == stack.size()) windows_ = model.windows;
    hears_attention_ = std::ranges::any_of(
        stack, [](const BuiltLayer& layer) { return layer.attention.has_value(); });
  }

  /// Says what is wrong where a layer is none that is timed.
  std::optional<std::string> take() {
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      LayerShape& layer = shape_.layers[i];
      if (!take_attention(layer.attention, i))
        return fmt::format("layer {} mixes tokens in a way that is not modelled", i);
      take_gate(layer, i);
      const double timed = shape_.layer_parameters(layer), real = matrices_of(i);
      if (std::abs(timed - real) > kMostOff * real)
        return fmt::format("layer {} has {:.0f} weights, of which {:.0f} are modelled", i, real,
                           timed);
    }
    return std::nullopt;
  }

 private:
  double matrices_of(std::size_t i) const { return static_cast<double>(stack_[i].matrices); }

  bool take_attention(AttentionShape& attention, std::size_t i) const {
    const std::optional<family::AttentionSizes>& called = stack_[i].attention;
    const bool attends =
        attention.kind == ShapeKind::multi_head || attention.kind == ShapeKind::latent;
    if (hears_attention_ && attends != called.has_value()) return false;
    if (!attends) return true;
    if (!windows_.empty() && (!called || called->sees_own_tokens)) attention.window = windows_[i];
    if (!called) return true;
    attention.heads = called->heads;
    attention.kv_heads = called->kv_heads;
    attention.head_dim = called->head_dim;
    attention.value_head_dim = called->value_head_dim;
    return true;
  }

  /// A feed-forward has a gate beside its up projection if its matrices are three rather than two.
  void take_gate(LayerShape& layer, std::size_t i) const {
    const auto off = [&](bool gated) {
      layer.mlp.gated = gated;
      return std::abs(shape_.layer_parameters(layer) - matrices_of(i));
    };
    layer.mlp.gated = off(true) <= off(false);
  }

  ModelShape& shape_;
  const std::vector<BuiltLayer>& stack_;
  std::vector<std::int64_t> windows_;
  bool hears_attention_ = false;
};

}  // namespace

Result<ModelShape> model_shape(const Config& whole, const BuiltModel* built) {
  const Config c = whole.has("text_config") ? whole.object("text_config") : whole;
  const std::string family = text_type_of(whole);
  const auto not_modelled = [&](const std::string& why) {
    return unsupported("the time of a " + family + " model is not modelled: " + why, whole.where());
  };
  const family::FamilyFacts* const facts = family::text_facts_of(whole);
  if (facts && !reads_text_in_one_stack(*facts))
    return not_modelled("it is not one stack of layers that reads text");
  if (c.has("block_configs")) return not_modelled("each of its layers has sizes of its own");
  ModelShape shape;
  shape.hidden = c.dimension({"hidden_size", "n_embd", "d_model"});
  shape.vocab = c.dimension({"vocab_size", "padded_vocab_size"}, 32000);
  shape.tied = built ? !built->has_own_head : c.boolean("tie_word_embeddings", false);
  shape.causal = !facts || facts->task != family::Task::masked_lm;
  shape.predicted_tokens = 1 + c.count("num_nextn_predict_layers", 0);
  shape.layers = layers_of(c, shape.hidden, family);
  if (const Result<void> read = whole.check(); !read) return tl::unexpected(read.error());
  if (shape.layers.empty()) return unsupported("a model without layers has no time", whole.where());
  if (facts && mixes_unlike(*facts, shape.layers))
    return not_modelled("its scan or its convolution is none that is timed");
  const auto layers = static_cast<std::int64_t>(shape.layers.size());
  if (const auto* stack = built ? built->stack_of(layers) : nullptr)
    if (const auto wrong = LayersAsBuilt(shape, *built, *stack).take()) return not_modelled(*wrong);
  shape.layers = counted(shape.layers);
  return shape;
}

Result<ModelShape> model_shape(const Config& config) {
  const Result<BuiltModel> built = built_model(config);
  if (!built && family::facts_of(config)) return tl::unexpected(built.error());
  return model_shape(config, built ? &*built : nullptr);
}

}  // namespace memtape::time
